/** Which element of a burn-batch each entry of the answer belongs to; the answer itself holds no index. */
import type { ElementOutcome } from '../contract/call.js';
import type { BurnBatchResult, BurnRequest } from '../contract/schemas/burn.js';
import { canonicalJson } from '../values/canonical-json.js';
import { proofHash } from '../values/digest.js';

/**
 * The outcomes in the order of the request. Both lists keep that order, so each element is the next of one of them;
 * elements that are alike in type and proof go to successes first.
 */
export function elementOutcomes(
  request: readonly BurnRequest[],
  result: BurnBatchResult,
): readonly ElementOutcome[] {
  const outcomes: ElementOutcome[] = [];
  let successes = 0;
  let failures = 0;
  for (const [index, element] of request.entries()) {
    const success = result.success[successes];
    if (success !== undefined && success.type === element.type && success.hash === proofHash(element.proof)) {
      successes += 1;
      outcomes.push({ index, status: 'success', ...success });
      continue;
    }
    const failure = result.errors[failures];
    if (failure === undefined || failure.proofType !== element.type) continue;
    if (canonicalJson(failure.proof) !== canonicalJson(element.proof)) continue;
    failures += 1;
    outcomes.push({ index, status: 'error', ...failure });
  }
  return outcomes;
}
