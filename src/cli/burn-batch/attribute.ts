/** Finds which element each outcome belongs to, for a service that answers with two lists and no indexes. */
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnBatchResult, BurnRequest } from '../../contract/schemas/burn.js';
import { canonicalJson } from '../../values/canonical-json.js';
import { proofHash } from '../../values/digest.js';

/**
 * The outcomes in the order of the elements. Both lists of the result are in that order, so each element takes the next
 * success or the next error; its hash says which, and where a neighbour is its twin either is right.
 */
export function attributeOutcomes(
  burns: readonly BurnRequest[],
  result: BurnBatchResult,
): readonly ElementOutcome[] {
  const outcomes: ElementOutcome[] = [];
  let successAt = 0;
  let errorAt = 0;
  for (const [index, burn] of burns.entries()) {
    const success = result.success[successAt];
    const error = result.errors[errorAt];
    if (success !== undefined && (error === undefined || isSuccessOf(burn, success, error))) {
      successAt += 1;
      outcomes.push({ index, status: 'success', ...success });
    } else if (error !== undefined) {
      errorAt += 1;
      outcomes.push({ index, status: 'error', ...error });
    }
  }
  return outcomes;
}

function isSuccessOf(
  burn: BurnRequest,
  success: BurnBatchResult['success'][number],
  error: BurnBatchResult['errors'][number],
): boolean {
  if (success.type === burn.type && success.hash === proofHash(burn.proof)) return true;
  return error.proofType !== burn.type || canonicalJson(error.proof) !== canonicalJson(burn.proof);
}
