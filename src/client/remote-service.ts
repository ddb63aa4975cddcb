/** The service over HTTP: what is sent, how often, and which outcome the caller gets (contract, section 2.5). */
import type * as z from 'zod';
import type { Call, Reply } from '../contract/call.js';
import { decodeBatchCost, decodeRateLimit } from '../contract/header-values.js';
import { BATCH_COST_HEADER, IDEMPOTENT_REPLAYED_HEADER, RATE_LIMIT_HEADER } from '../contract/headers.js';
import { OPERATIONS, type Operation, type OperationId, pathParameters } from '../contract/operations.js';
import { DEFAULT_PAGE_ITEMS } from '../contract/schemas/page.js';
import { type AnswerOf, eachOperation, type InputOf, type Service } from '../contract/service.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { isUuid } from '../values/uuid.js';
import type { Expected, PreparedCall } from './attempt.js';
import { CHECKS, type Finding } from './check-answer.js';
import { answerContext, type Reading } from './decode-response.js';
import type { HttpAnswer } from './exchange.js';
import { KnownBatches } from './known-batches.js';
import { maskValue } from './mask.js';
import { createSender, type Input, type RemoteServiceDeps, RequestWriter } from './request-writer.js';
import { sendUntilAnswered } from './send.js';

function replyFrom<Value>(value: Value, answer: HttpAnswer, reading: Reading): Reply<Value> {
  const { headers } = answer;
  const { requestId } = answerContext(answer, reading);
  const rateLimit = decodeRateLimit(reading.mask(headers[RATE_LIMIT_HEADER] ?? ''));
  const cost = decodeBatchCost(headers[BATCH_COST_HEADER] ?? '');
  const serverTimeMs = Date.parse(headers['date'] ?? '');
  return {
    value: maskValue(value, reading.mask),
    meta: {
      replayed: headers[IDEMPOTENT_REPLAYED_HEADER] === 'true',
      ...(requestId === undefined ? {} : { requestId }),
      ...(rateLimit === undefined ? {} : { rateLimit }),
      ...(cost === undefined ? {} : { cost }),
      ...(Number.isNaN(serverTimeMs) ? {} : { serverTimeMs }),
    },
  };
}

/** The path with its parameters. @throws `ERR_BATCH_NOT_FOUND` for what is no id, so that it never becomes part of a path. */
function filledPath(operation: Operation, values: Readonly<Record<string, unknown>>): string {
  return pathParameters(operation).reduce((path, name) => {
    const id = String(values[name]);
    if (isUuid(id)) return path.replace(`{${name}}`, id);
    throw new FlywheelError('ERR_BATCH_NOT_FOUND', `No batch ${id.slice(0, 64)}.`);
  }, operation.path);
}

/** Where each part of an operation's input travels: in the path, the query of a GET, the body of a POST. */
function placeInput(operation: Operation, given: InputOf<OperationId>): Input {
  // By the table and not by what is there: what is no input at all is for the service to refuse.
  if (operation.request === null) return {};
  const fields: Readonly<Record<string, unknown>> = { ...given };
  const inPath = pathParameters(operation);
  const path = filledPath(operation, fields);
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !inPath.includes(name)));
  if (operation.method === 'POST') return { path, body: inPath.length === 0 ? given : rest };
  if (!operation.paged) return { path, query: rest };
  const { limit } = { limit: undefined, ...given };
  return { path, query: rest, items: limit ?? DEFAULT_PAGE_ITEMS };
}

/** Every operation with the type of its answer. */
const ANSWERED: {
  readonly [Id in OperationId]: Operation & { readonly response: z.ZodType<AnswerOf<Id>> };
} = OPERATIONS;

/** How to look at the batch of an operation that may take longer than its request; of others there is nothing to look at. */
function lookAt(
  service: Service,
  id: OperationId,
  input: InputOf<OperationId>,
  { credential, signal }: Call,
): PreparedCall['look'] {
  const call: Call = { credential, ...(signal === undefined ? {} : { signal }) };
  if (id === 'initBatch')
    return async () => {
      const { value } = await service.currentBatch(call);
      const status = value?.status ?? null;
      return { status, isOver: status !== 'AVAILABLE_TO_QUEUE' };
    };
  if (id !== 'executeBatch') return undefined;
  const { batchId } = input as InputOf<'executeBatch'>;
  return async () => {
    const { status } = (await service.getBatch({ batchId }, call)).value;
    return { status, isOver: status === 'EXECUTED' || status === 'FAILED' };
  };
}

/**
 * The service at a base address. Nothing is opened before the first call.
 * @throws `ERR_CONFIG_INVALID` for an address, a header name, a proxy or certificates that cannot be.
 */
export function createRemoteService(deps: RemoteServiceDeps): Service {
  const writer = new RequestWriter(deps);
  const sender = createSender(deps, writer);
  const batches = new KnownBatches();
  const checkOf =
    <Id extends OperationId>(id: Id, input: InputOf<Id>) =>
    (answer: AnswerOf<Id>): Finding => {
      const finding = CHECKS[id](input)(answer);
      const contradiction = finding.contradiction ?? batches.problem(id, answer);
      return contradiction === undefined ? finding : { ...finding, contradiction };
    };

  const service: Service = {
    ...eachOperation(async <Id extends OperationId>(id: Id, input: InputOf<Id>, call: Call) => {
      const operation = ANSWERED[id];
      const written = writer.prepare(operation, call, placeInput(operation, input));
      const prepared = {
        ...written,
        look: lookAt(service, id, input, call),
        onWaiting: call.onWaiting,
        era: sender.transport.era,
      };
      const expected: Expected<AnswerOf<Id>> = { schema: operation.response, check: checkOf(id, input) };
      const { value, answer, finding } = await sendUntilAnswered(sender, prepared, expected);
      batches.remember(id, value);
      const reply = replyFrom(value, answer, prepared.reading);
      const { mask } = prepared.reading;
      for (const outcome of finding.outcomes ?? []) call.onElement?.(maskValue(outcome, mask));
      return reply;
    }),
    close: () => sender.transport.close(),
  };
  return service;
}
