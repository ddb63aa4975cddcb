/** What became of burns, in the words of the API. */
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnBatchResult, BurnResult, BurnShape } from '../../contract/schemas/burn.js';
import { isErrorCode } from '../../errors/codes.js';
import type { BurnRecord } from '../../store/records.js';
import { burnError } from './prepare-burns.js';

/** What of a burn's record tells its outcome. */
export type Settled = Pick<BurnRecord, 'status' | 'errorCode' | 'errorMessage' | 'dateSettled'>;

/** The outcome of the element at `index`. @param input - what was asked for. */
export function outcomeOf(
  { index, proofHash, signature }: Pick<BurnRecord, 'index' | 'proofHash' | 'signature'>,
  { status, errorCode, errorMessage, dateSettled }: Settled,
  input: BurnShape,
): ElementOutcome {
  if (status === 'SUCCESS') {
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
