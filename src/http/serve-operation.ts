/**
 * One request of one operation, from its headers to its answer.
 *
 * The order is the promise: who calls, then the rate limit, then the scope, then the media type and the body, then the
 * service. Nothing later is looked at before the earlier has passed.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call, Reply } from '../contract/call.js';
import type { Operation, OperationId } from '../contract/operations.js';
import type {
  BatchPipelinesQuery,
  CancelBatchRequest,
  ExecuteBatchRequest,
  InitBatchRequest,
  IssueApprovalRequest,
  ListBatchesQuery,
} from '../contract/schemas/batch.js';
import type { BurnBatchRequest, BurnRequest } from '../contract/schemas/burn.js';
import type { Service } from '../contract/service.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { createAdmission } from './admission.js';
import { answerText } from './answer-text.js';
import { metaHeaders, operationHeaders, rateLimitHeaders } from './headers.js';
import type { Principal } from './options.js';
import { readInput } from './read-input.js';
import { readCredential, readIdempotencyKey } from './request-headers.js';
import type { RequestLife } from './request-life.js';
import type { ServeContext } from './serve-context.js';

const JSON_CONTENT = 'application/json; charset=utf-8';

type Invoke = (service: Service, input: unknown, call: Call) => Promise<Reply<unknown>>;

/** The service checks its input itself, so that what was read is handed on as it is. */
const INVOKE: Readonly<Record<OperationId, Invoke>> = {
  burn: (service, input, call) => service.burn(input as BurnRequest, call),
  burnBatch: (service, input, call) => service.burnBatch(input as BurnBatchRequest, call),
  getBatch: (service, input, call) => service.getBatch(input as { batchId: string }, call),
  currentBatch: (service, _input, call) => service.currentBatch(call),
  initBatch: (service, input, call) => service.initBatch(input as InitBatchRequest, call),
  executeBatch: (service, input, call) => service.executeBatch(input as ExecuteBatchRequest, call),
  listBatches: (service, input, call) => service.listBatches(input as ListBatchesQuery, call),
  batchPipelines: (service, input, call) => service.batchPipelines(input as BatchPipelinesQuery, call),
  issueApproval: (service, input, call) => service.issueApproval(input as IssueApprovalRequest, call),
  cancelBatch: (service, input, call) => service.cancelBatch(input as CancelBatchRequest, call),
};

function checkScope(operation: Operation, principal: Principal): void {
  const { scopes } = principal;
  if (scopes === undefined || operation.scopes.some((scope) => scopes.includes(scope))) return;
  throw new FlywheelError(
    'ERR_KEY_SCOPES_UNAUTHORIZED',
    `The API key needs the scope ${operation.scopes.map((scope) => `\`${scope}\``).join(' or ')}.`,
  );
}

/** Serves requests of one operation; throws what the problem handler answers. */
export function createOperationHandler(
  context: ServeContext,
  operation: Operation,
): (request: FastifyRequest, reply: FastifyReply, life: RequestLife) => Promise<void> {
  const { deps, settings, metrics, lives, bodies, shutdown } = context;
  const limit = settings.rateLimits[operation.id] ?? operation.rateLimit;
  // What is left is not known before the key is; every answer says something of it.
  const fixedHeaders = { ...operationHeaders(operation, settings.basePath), ...rateLimitHeaders(limit) };
  const admit = createAdmission(context, operation);

  const serve = async (request: FastifyRequest, reply: FastifyReply, life: RequestLife) => {
    const credential = readCredential(request.raw, settings);
    const principal = await deps.authenticate(credential);
    life.keyId = principal.keyId;
    const admission = await admit(principal, request.raw, reply);
    checkScope(operation, principal);
    const idempotencyKey = readIdempotencyKey(operation, request.raw);
    const input = await readInput(context, operation, request, life);
    const call: Call = {
      credential,
      requestId: life.requestId,
      signal: shutdown.signal,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(admission.repeatOnly ? { repeatOnly: true } : {}),
    };
    return lives.run(life, () => admission.answer(() => INVOKE[operation.id](deps.service, input, call)));
  };

  return async (request, reply, life) => {
    life.operation = operation.id;
    reply.headers(fixedHeaders);
    lives.refuseWhenFull();
    const answer = await serve(request, reply, life);
    metrics.answered(operation.id, answer);
    life.replayed = answer.meta.replayed;
    const text = await answerText(answer.value, bodies.slices);
    // A shutdown may have answered in the meantime.
    if (!life.mayAnswer()) return;
    reply.headers(metaHeaders(answer.meta));
    void reply.header('content-type', JSON_CONTENT).send(text);
  };
}
