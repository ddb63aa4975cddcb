/** The lines of `-v`: requests and answers, with the key masked and without bodies. */
import { RATE_LIMIT_HEADER, REQUEST_ID_HEADER, RETRY_AFTER_HEADER } from '../contract/headers.js';
import type { HttpAnswer, HttpFailure, HttpRequest } from '../transport/transport.js';
import { visibleLine } from '../values/text.js';
import type { Mask } from './mask.js';

export type HttpLog = ReturnType<typeof createHttpLog>;

const SHOWN_HEADERS = [
  'content-type',
  REQUEST_ID_HEADER,
  RATE_LIMIT_HEADER,
  RETRY_AFTER_HEADER,
  'idempotent-replayed',
  'idempotency-key-unused',
  'location',
] as const;

const MAX_VALUE_LENGTH = 200;

const plain = (text: string): string => visibleLine(text).slice(0, MAX_VALUE_LENGTH);

export function createHttpLog(listener: ((line: string) => void) | undefined, keyHeader: string) {
  const write = listener ?? (() => undefined);
  return {
    request(request: HttpRequest, tryNumber: number): void {
      write(`> ${request.method} ${request.url.href} (try ${tryNumber})`);
      for (const [name, value] of Object.entries(request.headers)) {
        write(`>   ${name}: ${name === keyHeader ? '***' : plain(value)}`);
      }
      if (request.body !== undefined) write(`>   (${Buffer.byteLength(request.body)} bytes)`);
    },
    /** @param mask - for the key of this call. */
    outcome(outcome: HttpAnswer | HttpFailure, elapsedMs: number, mask: Mask): void {
      if (outcome.kind === 'failure') {
        write(`< ${plain(mask(outcome.reason))} (${elapsedMs} ms)`);
        return;
      }
      const body = outcome.unread ?? `${Buffer.byteLength(outcome.text)} bytes`;
      write(`< ${outcome.status} (${elapsedMs} ms, ${plain(mask(body))})`);
      for (const name of SHOWN_HEADERS) {
        const value = outcome.headers[name];
        if (value !== undefined) write(`<   ${name}: ${plain(mask(value))}`);
      }
    },
    wait: (ms: number, reason: string): void =>
      write(`  waiting ${(ms / 1_000).toFixed(1)} s: ${plain(reason)}`),
  };
}
