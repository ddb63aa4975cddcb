/**
 * How every call of the service begins, written once: who calls and what for, the idempotency key, the shape of the input, and
 * the answer of an earlier call with the same key. What differs from operation to operation is data.
 */
import type { Call, Reply } from '../contract/call.js';
import { checkIdempotencyKey } from '../contract/headers.js';
import { failureOf, type KeyedOperationId, OPERATIONS, type OperationId } from '../contract/operations.js';
import type { AnswerOf } from '../contract/service.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { RequestRecord } from '../store/records.js';
import type { JsonValue } from '../values/canonical-json.js';
import { type Caller, findCaller, type Principal, requireScope } from './authenticate.js';
import type { EngineDeps } from './deps.js';
import {
  noRepeat,
  type RequestIdentity,
  readReply,
  refusedByContent,
  requestIdentity,
  requireReadable,
  requireRepeat,
} from './requests.js';

/** A call that may be carried out: who calls, and what for. */
interface Admitted<Input> {
  readonly deps: EngineDeps;
  readonly principal: Principal;
  readonly input: Input;
  readonly call: Call;
}

/** The same of an operation that takes an idempotency key. */
export interface KeyedCall<Input> extends Admitted<Input> {
  readonly identity: RequestIdentity;
  /** An earlier call with the same key that is to be carried on, or whose answer the operation itself looks at. */
  readonly earlier: RequestRecord | undefined;
}

/** What an operation does beyond what the contract's table says of it. */
interface Plan<Id extends OperationId, Input, Given> {
  /** Judges what came, and what of its caller has to be there; everything is thrown. */
  readonly parse: (
    input: unknown,
    caller: { readonly deps: EngineDeps; readonly principal: Principal },
  ) => Input;
  readonly perform: (given: Given) => Promise<Reply<AnswerOf<Id>>>;
}

interface KeyedPlan<Id extends KeyedOperationId, Input> extends Plan<Id, Input, KeyedCall<Input>> {
  /** Of an input: a key that is limited to some reads stored answers about those only. */
  readonly proofTypes: (input: Input) => readonly string[];
  /** May a refusal of the input say that the key was not used? */
  readonly saysUnused: boolean;
  /** An answer once more, from what is stored of it. Where it is missing, `perform` sees to repeats. */
  readonly replay?: (stored: unknown, call: Admitted<Input>) => Promise<Reply<AnswerOf<Id>>>;
}

/** One operation, ready to be called. @param caller - where it is known already who calls */
export type EngineOperation<Id extends OperationId> = (
  deps: EngineDeps,
  input: unknown,
  call: Call,
  caller?: Caller,
) => Promise<Reply<AnswerOf<Id>>>;

/** An operation that knows no idempotency key. */
export const operation =
  <Id extends Exclude<OperationId, KeyedOperationId>, Input>(
    id: Id,
    plan: Plan<Id, Input, Admitted<Input>>,
  ): EngineOperation<Id> =>
  (deps, input, call, caller) =>
    withOwnError(id, call, async () => {
      const principal = caller ?? (await findCaller(deps.store, id, call));
      requireScope(principal, id);
      const parsed = plan.parse(input, { deps, principal });
      if (OPERATIONS[id].method === 'POST') await requireUsable(deps, principal);
      return plan.perform({ deps, principal, input: parsed, call });
    });

/** An operation whose calls are known by their idempotency key. */
export const keyedOperation =
  <Id extends KeyedOperationId, Input>(id: Id, plan: KeyedPlan<Id, Input>): EngineOperation<Id> =>
  (deps, input, call, caller) =>
    withOwnError(id, call, async () =>
      callKeyed(id, plan, deps, input, call, caller ?? (await findCaller(deps.store, id, call))),
    );

async function callKeyed<Id extends KeyedOperationId, Input>(
  id: Id,
  plan: KeyedPlan<Id, Input>,
  deps: EngineDeps,
  given: unknown,
  call: Call,
  { earlier, ...principal }: Caller,
): Promise<Reply<AnswerOf<Id>>> {
  requireScope(principal, id);
  const value = checkIdempotencyKey(call.idempotencyKey, OPERATIONS[id].idempotencyKey);
  let input: Input;
  try {
    input = plan.parse(given, { deps, principal });
  } catch (error) {
    throw plan.saysUnused && earlier === undefined ? refusedByContent(value, error) : error;
  }
  const admitted = { deps, principal, input, call };
  // Its shape has been judged, and whatever else the text of a request holds is JSON too.
  const body = given as JsonValue;
  const proofTypes = plan.proofTypes(input);
  const identity = { ...requestIdentity(principal, id, value, body, proofTypes), call };
  if (earlier !== undefined) {
    requireRepeat(deps, principal, identity, earlier);
    await requireReadable(deps, earlier, identity);
  }
  if (plan.replay !== undefined) {
    if (earlier?.reply != null) {
      call.onOperation?.(earlier.id);
      return plan.replay(readReply(earlier.reply), admitted);
    }
    if (call.repeatOnly === true) throw noRepeat();
  }
  await requireUsable(deps, principal);
  return plan.perform({ ...admitted, identity, earlier });
}

/** The project may be written for. @throws `ERR_CHAIN_MISMATCH`, `ERR_STORE_BEHIND`, `ERR_UNAVAILABLE` */
async function requireUsable(deps: EngineDeps, { key: { tokenId } }: Principal): Promise<void> {
  await deps.verifyToken?.(tokenId);
  await deps.gaps.require(tokenId);
}

/** Errors of the contract pass; anything else becomes the operation's own internal error and keeps its cause. */
async function withOwnError<Result>(
  id: OperationId,
  { signal }: Call,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (isFlywheelError(cause)) throw cause;
    if (signal?.aborted === true) {
      const message = 'Interrupted. Running work is stored and can be resumed.';
      throw new FlywheelError('ERR_INTERRUPTED', message, { cause });
    }
    throw new FlywheelError(failureOf(id), 'Internal error of the service.', { cause });
  }
}
