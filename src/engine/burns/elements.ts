/** Elements of a burn request: from input to burns or refusals. */

import { proofMemoText } from '../../chain/small-programs.js';
import type { BurnShape } from '../../contract/schemas/burn.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BurnRecord, LostTransaction, ProjectRecord, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { createPause } from '../../values/event-loop.js';
import { InexactNumber } from '../../values/exact-number.js';
import { MAX_PROOF_TYPE_LENGTH } from '../../values/key-terms.js';
import { tokenAmountFromNumber } from '../../values/token-amount.js';
import type { EngineLimits } from '../deps.js';
import { type Principal, permitsProofType, permittedTypesText } from '../operation.js';

export type Burn = Pick<BurnRecord, 'index' | 'proofType' | 'persistOnchain' | 'amount' | 'proofHash'>;

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
}

export const isRefusal = (value: object): value is Refusal => 'code' in value;

export async function prepareBurns(
  principal: Principal,
  requests: readonly BurnShape[],
  limits: EngineLimits,
): Promise<readonly (Burn | Refusal)[]> {
  const pause = createPause();
  const prepared: (Burn | Refusal)[] = [];
  for (const [index, request] of requests.entries()) {
    const burn = prepareBurn(principal, limits, request);
    prepared.push(isRefusal(burn) ? burn : { index, ...burn });
    await pause();
  }
  return prepared;
}

function prepareBurn(
  principal: Principal,
  limits: EngineLimits,
  request: BurnShape,
): Omit<Burn, 'index'> | Refusal {
  const { type, persistOnchain } = request;
  try {
    const { project } = principal;
    requireBurnable(project);
    checkProofType(principal, type);
    const proofHash = hashProof(request.proof, limits);
    return { proofType: type, persistOnchain, proofHash, amount: baseUnits(request.burnAmount, project) };
  } catch (error) {
    if (isFlywheelError(error)) return { code: error.code, message: error.message };
    throw error;
  }
}

/** @throws `ERR_TOKEN_NOT_FOUND` */
function requireBurnable(project: ProjectRecord): void {
  if (project.generation === 'v1') return;
  const message = `Single burns need a v1 token, but ${project.symbol} is a ${project.generation} token. Use a batch.`;
  throw new FlywheelError('ERR_TOKEN_NOT_FOUND', message);
}

function baseUnits(amount: BurnShape['burnAmount'], project: ProjectRecord): bigint {
  const code = 'ERR_BURN_TOKENOMICS_FAILED';
  if (amount instanceof InexactNumber) {
    const text = amount.text.slice(0, 40);
    throw new FlywheelError(code, `The burnAmount ${text} would be rounded as a JSON number.`);
  }
  try {
    return tokenAmountFromNumber(amount, project.decimals);
  } catch (cause) {
    throw new FlywheelError(code, `The burnAmount cannot be burned: ${(cause as Error).message}`, { cause });
  }
}

/** @throws `ERR_INVALID_PROOF` for a type that is unknown or not permitted for the key. */
function checkProofType(principal: Principal, type: string): void {
  if (permitsProofType(principal, type)) return;
  const shown = JSON.stringify(type.length > MAX_PROOF_TYPE_LENGTH ? `${type.slice(0, 64)}…` : type);
  const message = `The proof type ${shown} is unknown or not permitted; ${permittedTypesText(principal)}.`;
  throw new FlywheelError('ERR_INVALID_PROOF', message);
}

/** @throws `ERR_INVALID_PROOF` when the proof is not an object, is too large, or has no canonical form. */
export function hashProof(proof: JsonValue, { maxProofBytes }: EngineLimits): Sha256 {
  if (!isJsonObject(proof)) throw invalidProof('expected a JSON object.');
  const text = canonicalText(proof);
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= maxProofBytes) return sha256(text);
  throw invalidProof(`it has ${sizeBytes} bytes; at most ${maxProofBytes} are allowed.`);
}

function canonicalText(proof: JsonObject): string {
  try {
    return canonicalJson(proof);
  } catch (cause) {
    throw invalidProof((cause as Error).message, cause);
  }
}

const invalidProof = (reason: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_INVALID_PROOF', `The proof is not valid: ${reason}`, { cause });

/**
 * Finds burns that may have landed in transactions that the store lacked when an older copy of it was restored while their request
 * ran: the copy does not know that they were signed, or signed again. Without a proof on chain, any burn of the amount may be it.
 * @returns by index of the burn
 */
export async function findLost(
  tx: StoreTransaction,
  request: Pick<RequestRecord, 'id' | 'tokenId'>,
  burns: readonly Burn[],
): Promise<ReadonlyMap<number, LostTransaction>> {
  const left = new Set(await tx.gaps.acceptedSince(request));
  const found = new Map<number, LostTransaction>();
  for (const { index, amount, persistOnchain, proofType, proofHash } of burns) {
    const text = persistOnchain ? proofMemoText(proofType, proofHash) : null;
    const isLike = ({ burned, memo }: LostTransaction): boolean =>
      burned === amount && (text === null ? memo === null : memo?.includes(text) === true);
    const lost = [...left].find(isLike);
    if (lost === undefined) continue;
    found.set(index, lost);
    if (persistOnchain) left.delete(lost);
  }
  return found;
}

export const maybeLost = ({ signature }: Pick<LostTransaction, 'signature'>): Refusal => ({
  code: 'ERR_STORE_BEHIND',
  message: `The store was restored from an older copy. Transaction ${signature}, which the copy lacked, may be this burn, so it was not signed again. Check it before you send this burn under another key.`,
});
