/** The API as it is over HTTP: requests put together by hand, sent and judged by the rules of all others, answers as they came. */
import * as z from 'zod';
import type { Operation } from '../contract/operations.js';
import { keyRule, operationOf, type RawAnswer, type RawApi, type RawRequest } from '../contract/raw-api.js';
import { MAX_PAGE_ITEMS } from '../contract/schemas/page.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { CHECKS, type Finding } from './check-answer.js';
import type { HttpAnswer } from './exchange.js';
import type { Mask } from './mask.js';
import type { Expected } from './one-try.js';
import { type Asked, createSender, type RemoteServiceDeps, RequestWriter } from './request-writer.js';
import { sendUntilAnswered } from './send.js';

/** Headers that the client sets itself, or that carry a secret. */
const TAKEN_HEADERS =
  /^(?:host|connection|content-(?:length|type|encoding)|transfer-encoding|upgrade|te|trailer|expect|accept-encoding|x-idempotency-key|authorization|proxy-.*|cookie)$/;
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const HEADER_VALUE = /^[\t\x20-\x7e]{0,4096}$/;

function checkHeaders(headers: RawRequest['headers'], keyHeader: string): RawRequest['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([given, value]) => {
      const name = given.toLowerCase();
      if (TAKEN_HEADERS.test(name) || name === keyHeader)
        throw new FlywheelError('ERR_USAGE', `The header ${name} is set by the client itself.`);
      if (HEADER_NAME.test(name) && HEADER_VALUE.test(value)) return [name, value];
      throw new FlywheelError('ERR_USAGE', `Not a header: ${JSON.stringify(given.slice(0, 100))}.`);
    }),
  );
}

const JSON_TEXT = z.unknown();

/** The value of a JSON text; `undefined` for what is none, which is for the service to refuse. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What an answer of success has to be. Nothing hangs on what is read; an answer to what acts is the only word on what it did. */
function expectedOf({ method, body = '' }: RawRequest, operation: Operation | undefined): Expected<unknown> {
  const check = (answer: unknown): Finding => {
    if (operation === undefined || method === 'GET') return { warnings: [] };
    const input = operation.request?.safeParse(jsonOf(body));
    // Input that is none of the operation is for the service to refuse.
    if (input?.success !== true) return { warnings: [] };
    const checkOf = CHECKS[operation.id] as unknown as (given: unknown) => (said: unknown) => Finding;
    return checkOf(input.data)(answer);
  };
  const schema = method === 'GET' ? JSON_TEXT : (operation?.response ?? JSON_TEXT);
  return { schema, check, ...(method === 'GET' ? { whole: null } : {}) };
}

const plain = ({ status, headers, text }: HttpAnswer, mask: Mask): RawAnswer => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, mask(value)])),
  text: mask(text),
});

function splitPath(path: string): { readonly path: string; readonly query: object } {
  if (!path.startsWith('/') || path.startsWith('//') || /[\s\\#]/.test(path))
    throw new FlywheelError('ERR_USAGE', `Not a path below the API's address: ${JSON.stringify(path)}.`, {
      hint: 'A path begins with a slash, such as /v1/tokenomics/burns.',
    });
  const url = new URL(`http://api${path}`);
  if (url.pathname !== path.replace(/\?.*$/, ''))
    throw new FlywheelError('ERR_USAGE', `Write the path as it is: ${JSON.stringify(url.pathname)}.`);
  return { path: url.pathname, query: Object.fromEntries(url.searchParams) };
}

/**
 * The API at a base address. Nothing is opened before the first request.
 * @throws `ERR_CONFIG_INVALID` as the client of the service does.
 */
export function createRawApi(deps: RemoteServiceDeps): RawApi {
  const writer = new RequestWriter(deps);
  const sender = createSender(deps, writer);
  return {
    async send(request, { credential, signal, idempotencyKey, onAnswer }) {
      const operation = operationOf(request);
      const { path, query } = splitPath(request.path);
      const asked: Asked = {
        ...{ id: operation?.id ?? `${request.method} ${path}`, method: request.method },
        ...{ path, idempotencyKey: keyRule(request) },
      };
      const call = { credential, signal, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
      const written = writer.prepare(asked, call, {
        ...{ path, query, headers: checkHeaders(request.headers, writer.keyHeader) },
        ...(request.body === undefined ? {} : { text: request.body }),
        items: MAX_PAGE_ITEMS,
      });
      const { mask } = written.reading;
      const prepared = {
        ...written,
        era: sender.transport.era,
        // What the contract does not know may act each time that it is sent.
        ...(operation === undefined && request.method === 'POST' ? { maxTries: 1 } : {}),
        onAnswer: (answer: HttpAnswer) => onAnswer(plain(answer, mask)),
      };
      const { answer } = await sendUntilAnswered(sender, prepared, expectedOf(request, operation));
      return plain(answer, mask);
    },
    close: () => sender.transport.close(),
  };
}
