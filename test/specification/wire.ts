/** Well-formed raw HTTP requests of every operation, for cases about paths, headers and bodies. */
import { randomUUID } from 'node:crypto';
import { type Api, type HttpAnswer, keyHeader, type OperationName, ROUTES } from './api.js';
import { aBurnRequest, burning } from './requests.js';

export const BODIES: Readonly<Record<OperationName, unknown>> = {
  burn: aBurnRequest(1),
  burnBatch: [aBurnRequest(1)],
  getBatch: undefined,
  currentBatch: undefined,
  initBatch: burning(1),
  executeBatch: { batchId: randomUUID(), signedTx: 'AAAA' },
};
export const POSTS = ['burn', 'burnBatch', 'initBatch', 'executeBatch'] as const;
export const OPERATIONS = Object.keys(ROUTES) as OperationName[];

export const errorOf = ({ bytes }: HttpAnswer): string =>
  (JSON.parse(bytes.toString()) as { error: string }).error;

export function call(
  { http, project }: Api,
  operation: OperationName,
  more: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const [method, path] = ROUTES[operation];
  const body = BODIES[operation];
  const headers = {
    ...keyHeader(project),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(operation === 'burnBatch' ? { 'x-idempotency-key': randomUUID() } : {}),
    ...more,
  };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return http.send(method, path.replace('{batchId}', randomUUID()), { headers, ...sent });
}
