/** Well-formed raw HTTP requests of every operation, for cases about paths, headers and bodies. */
import { randomUUID } from 'node:crypto';
import type { Project } from '../support/in-process-service.js';
import { type Api, type HttpAnswer, type HttpClient, type OperationName, ROUTES } from './api.js';
import { aBurnRequest, aPipeline, burnAction } from './requests.js';

export const BODIES: Readonly<Record<OperationName, unknown>> = {
  burn: aBurnRequest(1),
  burnBatch: [aBurnRequest(1)],
  getBatch: undefined,
  currentBatch: undefined,
  initBatch: { pipelines: [aPipeline([burnAction(1)])] },
  executeBatch: { batchId: randomUUID(), signedTx: 'AAAA' },
};
export const POSTS = ['burn', 'burnBatch', 'initBatch', 'executeBatch'] as const;
export const OPERATIONS = Object.keys(ROUTES) as OperationName[];

export interface Wire {
  readonly http: HttpClient;
  readonly api: Api;
  readonly project: Project;
  call(operation: OperationName, headers?: Record<string, string>): Promise<HttpAnswer>;
}

export const errorOf = ({ bytes }: HttpAnswer): string =>
  (JSON.parse(bytes.toString()) as { error: string }).error;

export function wireOf(api: Api): Wire {
  const { http, project } = api;
  return {
    http,
    api,
    project,
    call: (operation, headers = {}) => {
      const [method, path] = ROUTES[operation];
      const body = BODIES[operation];
      return http.send(method, path.replace('{batchId}', randomUUID()), {
        headers: {
          'x-service-api-key': project.key,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(operation === 'burnBatch' ? { 'x-idempotency-key': randomUUID() } : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    },
  };
}
