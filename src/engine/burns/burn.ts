/** The two burn operations (service specification, sections 4.1 and 4.2). */
import type { Call, ElementOutcome, Reply } from '../../contract/call.js';
import { checkIdempotencyKey } from '../../contract/headers.js';
import { OPERATIONS } from '../../contract/operations.js';
import {
  type BurnBatchResult,
  type BurnRequest,
  type BurnResult,
  burnBatchRequestSchema,
  burnRequestSchema,
} from '../../contract/schemas/burn.js';
import { parseInput } from '../../contract/validate.js';
import { type ErrorCode, isErrorCode } from '../../errors/codes.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import { admit, requireToken } from '../auth/authenticate.js';
import type { EngineDeps } from '../deps.js';
import { findEarlier, requestIdentity } from '../requests/requests.js';
import { isRefusal, prepareBurns } from './prepare-burns.js';
import { type BurnRun, runBurns } from './run-burns.js';

/** Burns once; a burn that fails does not use its idempotency key up. */
export async function burn(deps: EngineDeps, input: BurnRequest, call: Call): Promise<Reply<BurnResult>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.burn);
  const key = checkIdempotencyKey(call.idempotencyKey, OPERATIONS.burn.idempotencyKey);
  const request = parseInput(burnRequestSchema, input);
  return once<BurnResult>(deps, {
    principal,
    call,
    inputs: [request],
    identity: requestIdentity(principal.key.id, 'burn', key, request),
    pathOf: () => [],
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
  const requests = parseInput(burnBatchRequestSchema, input);
  const { maxBurnBatchElements } = deps.limits;
  if (requests.length > maxBurnBatchElements) {
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `A burn-batch has at most ${maxBurnBatchElements} elements, got ${requests.length}.`,
    );
  }
  return once<BurnBatchResult>(deps, {
    principal,
    call,
    inputs: requests,
    identity: requestIdentity(principal.key.id, 'burnBatch', key, requests),
    pathOf: (index) => [index],
    close: (tx, record, outcomes) => tx.requests.complete(record.id, JSON.stringify(batchResult(outcomes))),
    answer: batchResult,
  });
}

interface BurnOperation<Value>
  extends Pick<BurnRun, 'principal' | 'call' | 'inputs' | 'identity' | 'onRefused' | 'close'> {
  /** Where element `index` stands in the request. */
  readonly pathOf: (index: number) => readonly PropertyKey[];
  readonly answer: (outcomes: readonly ElementOutcome[]) => Value;
}

async function once<Value>(deps: EngineDeps, operation: BurnOperation<Value>): Promise<Reply<Value>> {
  const { principal, identity, inputs } = operation;
  const token = requireToken(principal);
  const earlier = await deps.store.read((tx) => findEarlier(deps, tx, identity));
  if (earlier?.reply != null) return { value: JSON.parse(earlier.reply) as Value, meta: { replayed: true } };
  const elements = prepareBurns(principal, token, inputs, deps.limits, operation.pathOf);
  if (earlier === undefined) refuseAtOnce(elements, operation);
  const outcomes = await runBurns({ ...operation, deps, token, earlier, elements });
  return { value: operation.answer(outcomes), meta: { replayed: false } };
}

/** Elements that cannot be burned whatever the chain says are told before any lock is taken. */
function refuseAtOnce(elements: BurnRun['elements'], { onRefused }: Pick<BurnRun, 'onRefused'>): void {
  const refusals = elements.flatMap((element, index) =>
    isRefusal(element) ? [[index, element] as const] : [],
  );
  onRefused?.(new Map(refusals));
}

function burnResult(outcome: Extract<ElementOutcome, { status: 'success' }>): BurnResult {
  const { index: _index, status: _status, ...result } = outcome;
  return result;
}

function batchResult(outcomes: readonly ElementOutcome[]): BurnBatchResult {
  const result: BurnBatchResult = { success: [], errors: [] };
  for (const outcome of outcomes) {
    if (outcome.status === 'success') {
      result.success.push(burnResult(outcome));
    } else {
      const { index: _index, status: _status, ...error } = outcome;
      result.errors.push(error);
    }
  }
  return result;
}
