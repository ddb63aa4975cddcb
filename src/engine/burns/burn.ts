/** The two burn operations (service specification, sections 4.1 and 4.2). */
import type { ElementOutcome } from '../../contract/call.js';
import {
  type BurnResult,
  type BurnShape,
  burnShapeSchema,
  burnShapesSchema,
} from '../../contract/schemas/burn.js';
import { invalidRequest, parseInput } from '../../contract/validate.js';
import { type ErrorCode, isErrorCode } from '../../errors/codes.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { EngineLimits } from '../deps.js';
import { type KeyedCall, keyedOperation } from '../operation.js';
import { refusedByContent } from '../requests.js';
import { batchResult, burnResult, replayedResult, storedResult } from './outcomes.js';
import { isRefusal, prepareBurns } from './prepare-burns.js';
import { type BurnRun, runBurns } from './run-burns.js';

/** Burns once; a burn that fails does not use its idempotency key up. */
export const burn = keyedOperation('burn', {
  saysUnused: true,
  parse: (input) => parseInput(burnShapeSchema, input),
  proofTypes: ({ type }) => [type],
  replay: async (stored) => ({ value: stored as BurnResult, meta: { replayed: true } }),
  perform: async (call) => {
    const [outcome] = await runAll(call, [call.input], {
      onRefused: (refusals) => {
        const refusal = refusals.get(0);
        if (refusal !== undefined) throw new FlywheelError(refusal.code, refusal.message);
      },
      reply: ([outcome]) => (outcome?.status === 'success' ? JSON.stringify(burnResult(outcome)) : null),
    });
    invariant(outcome !== undefined, 'Every element has an outcome.');
    if (outcome.status === 'success') return { value: burnResult(outcome), meta: { replayed: false } };
    const code: ErrorCode = isErrorCode(outcome.type) ? outcome.type : 'ERR_BURN_TOKENOMICS_FAILED';
    throw new FlywheelError(code, outcome.message);
  },
});

/** Burns each element on its own and answers for each. */
export const burnBatch = keyedOperation('burnBatch', {
  saysUnused: true,
  parse: (input, { deps }) => burnShapes(input, deps.limits),
  proofTypes: (inputs) => inputs.map(({ type }) => type),
  replay: async (stored, { input }) => ({
    value: replayedResult(stored, input),
    meta: { replayed: true },
  }),
  perform: async (call) => {
    const outcomes = await runAll(call, call.input, {
      reply: storedResult,
    });
    return { value: batchResult(outcomes), meta: { replayed: false } };
  },
});

/** The elements, if the structure of the whole is right; how many there are is looked at before any of them. */
function burnShapes(input: unknown, { maxBurnBatchElements: most }: EngineLimits): readonly BurnShape[] {
  if (!Array.isArray(input)) throw invalidRequest(['expected an array of burns']);
  if (input.length > most) throw invalidRequest([`expected at most ${most} burns, got ${input.length}`]);
  return parseInput(burnShapesSchema, input);
}

async function runAll(
  keyed: KeyedCall<unknown>,
  inputs: readonly BurnShape[],
  ends: Pick<BurnRun, 'onRefused' | 'reply'>,
): Promise<readonly ElementOutcome[]> {
  const { deps, principal, identity, earlier } = keyed;
  const elements = await prepareBurns(principal, inputs, deps.limits);
  if (earlier === undefined) refuseAtOnce(elements, ends, identity.value);
  return runBurns({ ...keyed, ...ends, inputs, elements });
}

/** Elements that cannot be burned whatever the chain says are refused before any lock is taken. */
function refuseAtOnce(
  elements: BurnRun['elements'],
  { onRefused }: Pick<BurnRun, 'onRefused'>,
  key: string | undefined,
): void {
  const refusals = elements.flatMap((element, index) =>
    isRefusal(element) ? [[index, element] as const] : [],
  );
  try {
    onRefused?.(new Map(refusals));
  } catch (error) {
    throw refusedByContent(key, error);
  }
}
