/** Follows redirects of a GET within its own origin, so that the API key stays with the host it was meant for. */
import type { HttpAnswer, HttpFailure, HttpRequest, Transport } from './transport.js';

const MAX_REDIRECTS = 3;
const FOLLOWED: ReadonlySet<number> = new Set([301, 302, 307, 308]);

function target(request: HttpRequest, answer: HttpAnswer): URL | undefined {
  const location = answer.headers['location'];
  if (request.method !== 'GET' || !FOLLOWED.has(answer.status) || location === undefined) return undefined;
  if (!URL.canParse(location, request.url.href)) return undefined;
  const url = new URL(location, request.url);
  return url.origin === request.url.origin ? url : undefined;
}

/** The first answer that is not followed; a redirect elsewhere is such an answer. */
export async function followRedirects(
  transport: Transport,
  request: HttpRequest,
  signal: AbortSignal | undefined,
): Promise<HttpAnswer | HttpFailure> {
  let current = request;
  for (let redirects = 0; ; redirects += 1) {
    const outcome = await transport.exchange(current, signal);
    if (outcome.kind === 'failure' || redirects === MAX_REDIRECTS) return outcome;
    const url = target(current, outcome);
    if (url === undefined) return outcome;
    current = { ...current, url };
  }
}
