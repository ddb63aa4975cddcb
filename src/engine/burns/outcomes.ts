/** What became of burns, in the words of the API. */
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnBatchResult, BurnError, BurnResult, BurnShape } from '../../contract/schemas/burn.js';
import { isErrorCode } from '../../errors/codes.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { BurnRecord } from '../../store/records.js';
import { burnError } from './prepare-burns.js';

/** What of a burn's record tells its outcome. */
export type Ended = Pick<
  BurnRecord,
  'index' | 'proofHash' | 'signature' | 'status' | 'errorCode' | 'errorMessage' | 'dateSettled'
>;

/** The outcome of the element at `index`. @param input - what was asked for. */
export function outcomeOf(burn: Ended, input: BurnShape): ElementOutcome {
  const { index, proofHash, signature, status, errorCode, errorMessage, dateSettled } = burn;
  if (status !== 'FAILED') {
    const date = dateSettled ?? '';
    return {
      index,
      status: 'success',
      result: 'SUCCESS',
      hash: proofHash,
      txHash: signature,
      type: input.type,
      dateBurned: date,
    };
  }
  const code = errorCode !== null && isErrorCode(errorCode) ? errorCode : 'ERR_BURN_TOKENOMICS_FAILED';
  return {
    index,
    status: 'error',
    ...burnError(input, { code, message: errorMessage ?? 'The burn failed.' }),
  };
}

/** A success as a single burn answers it. */
export function burnResult(outcome: Extract<ElementOutcome, { status: 'success' }>): BurnResult {
  const { index: _index, status: _status, ...result } = outcome;
  return result;
}

/** All outcomes as a burn-batch answers them. */
export function batchResult(outcomes: readonly ElementOutcome[]): BurnBatchResult {
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

/** An error as it is stored: what it says of its element is in the request, and a repeat brings the same request. */
type StoredError = Pick<BurnError, 'message' | 'type'> & { readonly index: number };

/** {@link batchResult} as it is stored: without the proofs, so that a store does not grow by what is refused. */
export function storedResult(outcomes: readonly ElementOutcome[]): string {
  const { success } = batchResult(outcomes);
  const errors = outcomes.flatMap((outcome): StoredError[] =>
    outcome.status === 'error'
      ? [{ message: outcome.message, type: outcome.type, index: outcome.index }]
      : [],
  );
  return JSON.stringify({ success, errors });
}

/** The answer that was stored for a request. @param inputs - of the repeat, which are those of the request. */
export function replayedResult(stored: unknown, inputs: readonly BurnShape[]): BurnBatchResult {
  const { success, errors } = stored as Pick<BurnBatchResult, 'success'> & { errors: readonly StoredError[] };
  return {
    success,
    errors: errors.map(({ index, ...error }) => {
      const input = inputs[index];
      invariant(input !== undefined, 'A repeat has the elements of its request.');
      return { ...error, proof: input.proof, proofType: input.type };
    }),
  };
}
