/**
 * One request of one operation, from its headers to its answer.
 *
 * The order is the promise: who calls, then the rate limit, then the scope, then the media type and the body, then the
 * service. Nothing later is looked at before the earlier has passed.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call } from '../contract/call.js';
import type { Operation } from '../contract/operations.js';
import { callOperation } from '../contract/service.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { ownTurn } from '../values/turns.js';
import { createAdmission } from './admission.js';
import { answerText } from './answer-text.js';
import { metaHeaders, operationHeaders, rateLimitHeaders } from './headers.js';
import type { Principal } from './options.js';
import { outcomeOf } from './outcome.js';
import { readInput } from './read-input.js';
import { readCredential, readIdempotencyKey } from './request-headers.js';
import type { RequestLife } from './request-life.js';
import type { ServeContext } from './serve-context.js';

const JSON_CONTENT = 'application/json; charset=utf-8';

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
    // What is only read is answered between the pieces of what is done.
    if (operation.method === 'POST') await ownTurn();
    const credential = readCredential(request.raw, settings);
    const principal = await deps.authenticate(credential);
    life.keyId = principal.keyId;
    life.project = principal.project;
    const admission = await admit(principal, request.raw, reply);
    checkScope(operation, principal);
    const idempotencyKey = readIdempotencyKey(operation, request.raw);
    const input = await readInput(context, operation, request, life);
    const call: Call = {
      credential,
      requestId: life.requestId,
      signal: shutdown.signal,
      onOperation: (operationId) => {
        life.operationId = operationId;
      },
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(admission.repeatOnly ? { repeatOnly: true } : {}),
    };
    return lives.run(life, () =>
      admission.answer(() => callOperation(deps.service, operation.id, input, call)),
    );
  };

  return async (request, reply, life) => {
    life.operation = operation.id;
    reply.headers(fixedHeaders);
    lives.refuseWhenFull();
    const answer = await serve(request, reply, life);
    metrics.answered(operation.id, answer);
    life.replayed = answer.meta.replayed;
    if (operation.submits) life.outcome = outcomeOf(answer.value);
    const text = await answerText(answer.value, bodies.slices);
    // A shutdown may have answered in the meantime.
    if (!life.mayAnswer()) return;
    reply.headers(metaHeaders(answer.meta));
    void reply.header('content-type', JSON_CONTENT).send(text);
  };
}
