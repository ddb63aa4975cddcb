/** Answers a request with what went wrong, and leaves word of it for log and metrics. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { isOwnFault, servedError, toProblem } from './problem.js';
import type { RequestLife } from './request-life.js';

/** Whatever was thrown becomes the answer. */
export function answerProblem(
  thrown: unknown,
  life: RequestLife,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const error = servedError(thrown, life.operation);
  const problem = toProblem(error, life.requestId);
  life.problemCode = error.wireCode;
  if (isOwnFault(error)) request.log.error({ requestId: life.requestId, err: error }, 'failed');
  void reply
    .code(problem.status)
    .headers({ ...problem.headers, [REQUEST_ID_HEADER]: life.requestId, 'cache-control': 'no-store' })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(problem.body));
}
