/** The two burn operations (service specification, sections 4.1 and 4.2). */
import type { Call, ElementOutcome, Reply } from '../../contract/call.js';
import { checkIdempotencyKey } from '../../contract/headers.js';
import { OPERATIONS } from '../../contract/operations.js';
import {
  type BurnBatchResult,
  type BurnRequest,
  type BurnResult,
  type BurnShape,
  burnShapeSchema,
  burnShapesSchema,
} from '../../contract/schemas/burn.js';
import { invalidRequest, parseInput } from '../../contract/validate.js';
import { type ErrorCode, isErrorCode } from '../../errors/codes.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { admit } from '../auth/authenticate.js';
import type { EngineDeps, EngineLimits } from '../deps.js';
import { beforeRecord } from '../requests/key-unused.js';
import { findReply, requestIdentity } from '../requests/requests.js';
import { batchResult, burnResult, replayedResult, storedResult } from './outcomes.js';
import { isRefusal, prepareBurns } from './prepare-burns.js';
import { type BurnRun, runBurns } from './run-burns.js';

/** Burns once; a burn that fails does not use its idempotency key up. */
export async function burn(deps: EngineDeps, input: BurnRequest, call: Call): Promise<Reply<BurnResult>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.burn);
  const key = checkIdempotencyKey(call.idempotencyKey, OPERATIONS.burn.idempotencyKey);
  const place = { tokenId: principal.key.tokenId, operation: 'burn', value: key } as const;
  const request = await beforeRecord(deps, place, () => parseInput(burnShapeSchema, input));
  return once<BurnResult>(deps, {
    principal,
    call,
    inputs: [request],
    identity: await requestIdentity(principal, 'burn', key, input as JsonValue, [request.type]),
    onRefused: (refusals) => {
      const refusal = refusals.get(0);
      if (refusal !== undefined) throw new FlywheelError(refusal.code, refusal.message);
    },
    close: async (tx, record, [outcome]) => {
      if (outcome?.status === 'success')
        await tx.requests.complete(record.id, JSON.stringify(burnResult(outcome)));
      else await tx.requests.remove(record.id);
    },
    answer: ([outcome]) => {
      invariant(outcome !== undefined, 'Every element has an outcome.');
      if (outcome.status === 'success') return burnResult(outcome);
      const code: ErrorCode = isErrorCode(outcome.type) ? outcome.type : 'ERR_BURN_TOKENOMICS_FAILED';
      throw new FlywheelError(code, outcome.message);
    },
    replay: (stored) => stored as BurnResult,
  });
}

/** Burns each element on its own and answers for each. */
export async function burnBatch(
  deps: EngineDeps,
  input: readonly BurnRequest[],
  call: Call,
): Promise<Reply<BurnBatchResult>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.burnBatch);
  const key = checkIdempotencyKey(call.idempotencyKey, OPERATIONS.burnBatch.idempotencyKey);
  const place = { tokenId: principal.key.tokenId, operation: 'burnBatch', value: key } as const;
  const inputs = await beforeRecord(deps, place, () => burnShapes(input, deps.limits));
  return once<BurnBatchResult>(deps, {
    principal,
    call,
    inputs,
    identity: await requestIdentity(
      principal,
      'burnBatch',
      key,
      input as unknown as JsonValue,
      inputs.map(({ type }) => type),
    ),
    close: (tx, record, outcomes) => tx.requests.complete(record.id, storedResult(outcomes)),
    answer: batchResult,
    replay: (stored) => replayedResult(stored, inputs),
  });
}

/** The elements, if the structure of the whole is right; how many there are is looked at before any of them. */
function burnShapes(input: unknown, { maxBurnBatchElements: most }: EngineLimits): readonly BurnShape[] {
  if (!Array.isArray(input)) throw invalidRequest(['expected an array of burns']);
  if (input.length === 0) throw invalidRequest(['expected at least one burn']);
  if (input.length > most) throw invalidRequest([`expected at most ${most} burns, got ${input.length}`]);
  return parseInput(burnShapesSchema, input);
}

type BurnOperation<Value> = Pick<
  BurnRun,
  'principal' | 'call' | 'inputs' | 'identity' | 'onRefused' | 'close'
> & {
  readonly answer: (outcomes: readonly ElementOutcome[]) => Value;
  /** The same answer once more, from what was stored of it. */
  readonly replay: (stored: unknown) => Value;
};

async function once<Value>(deps: EngineDeps, operation: BurnOperation<Value>): Promise<Reply<Value>> {
  const { principal, identity, inputs, call } = operation;
  const earlier = await findReply<unknown>(deps, identity, call);
  if ('value' in earlier) return { ...earlier, value: operation.replay(earlier.value) };
  const elements = await prepareBurns(principal, inputs, deps.limits);
  if (earlier.request === undefined)
    await beforeRecord(deps, identity, () => refuseAtOnce(elements, operation));
  const outcomes = await runBurns({ ...operation, deps, earlier: earlier.request, elements });
  return { value: operation.answer(outcomes), meta: { replayed: false } };
}

/** Elements that cannot be burned whatever the chain says are refused before any lock is taken. */
function refuseAtOnce(elements: BurnRun['elements'], { onRefused }: Pick<BurnRun, 'onRefused'>): void {
  const refusals = elements.flatMap((element, index) =>
    isRefusal(element) ? [[index, element] as const] : [],
  );
  onRefused?.(new Map(refusals));
}
