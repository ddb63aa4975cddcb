/** Follows redirects of a GET within its own origin, so that the API key stays with the host it was meant for. */
import type { Clock } from '../values/time.js';
import type { HttpAnswer, HttpFailure, Terms } from './exchange.js';
import type { HttpRequest, Transport } from './transport.js';

const MAX_REDIRECTS = 3;
const FOLLOWED: ReadonlySet<number> = new Set([301, 302, 307, 308]);

function target(request: HttpRequest, answer: HttpAnswer): URL | undefined {
  const location = answer.headers['location'];
  if (request.method !== 'GET' || !FOLLOWED.has(answer.status) || location === undefined) return undefined;
  if (!URL.canParse(location, request.url.href)) return undefined;
  const url = new URL(location, request.url);
  return url.origin === request.url.origin ? url : undefined;
}

/** The first answer that is not followed; a redirect elsewhere is such an answer. All together keep to the terms. */
export async function followRedirects(
  { transport, clock }: { readonly transport: Transport; readonly clock: Clock },
  request: HttpRequest,
  terms: Terms,
): Promise<HttpAnswer | HttpFailure> {
  const startedMs = clock.nowMs();
  let [current, left] = [request, terms];
  for (let redirects = 0; ; redirects += 1) {
    const outcome = await transport.exchange(current, left);
    if (outcome.kind === 'failure' || redirects === MAX_REDIRECTS) return outcome;
    const url = target(current, outcome);
    if (url === undefined) return outcome;
    current = { ...current, url };
    const elapsedMs = Math.max(0, clock.nowMs() - startedMs);
    left = { ...terms, timeoutMs: Math.max(1, terms.timeoutMs - elapsedMs) };
  }
}
