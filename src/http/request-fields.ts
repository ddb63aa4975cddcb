/** What a request gathers on its way for log and metrics. */
import type { OperationId } from '../contract/operations.js';

declare module 'fastify' {
  interface FastifyRequest {
    operation: OperationId | undefined;
    keyId: string | undefined;
    problemCode: string | undefined;
    replayed: boolean | undefined;
    counted: boolean | undefined;
  }
}

/** Names of the fields above, declared once a server so that requests keep one shape. */
export const REQUEST_FIELDS = ['operation', 'keyId', 'problemCode', 'replayed', 'counted'] as const;
