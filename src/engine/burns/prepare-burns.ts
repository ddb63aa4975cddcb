/** Burn requests → burns that may be made: amounts in base units, proofs hashed, types permitted. Nothing is written here. */
import type { BurnError, BurnRequest } from '../../contract/schemas/burn.js';
import { listProblems, pathText } from '../../contract/validate.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { TokenRecord } from '../../store/records.js';
import { canonicalJson } from '../../values/canonical-json.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { tokenAmountFromNumber } from '../../values/token-amount.js';
import { type Principal, permitsProofType } from '../auth/authenticate.js';
import type { EngineLimits } from '../deps.js';

export interface PreparedBurn {
  readonly request: BurnRequest;
  /** Base units. */
  readonly amount: bigint;
  readonly proofHash: Sha256;
}

/** Why one element cannot be burned. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
}

export const isRefusal = (value: PreparedBurn | Refusal): value is Refusal => 'code' in value;

/**
 * Prepares every element, in order. An amount that the mint cannot express makes the whole request invalid, before
 * anything is burned; an element's proof is judged on its own.
 *
 * @param path - of the elements in the request: `(index) => [index]` for an array.
 * @throws `ERR_TOKEN_NOT_FOUND` for a token that is not of generation v1; `ERR_INVALID_REQUEST` naming every bad amount.
 */
export function prepareBurns(
  principal: Principal,
  token: TokenRecord,
  requests: readonly BurnRequest[],
  limits: EngineLimits,
  path: (index: number) => readonly PropertyKey[],
): readonly (PreparedBurn | Refusal)[] {
  if (token.generation !== 'v1') {
    throw new FlywheelError(
      'ERR_TOKEN_NOT_FOUND',
      `The burn operations work for v1 tokens only; ${token.symbol} is of generation ${token.generation}.`,
      {
        hint: 'Use a flywheel batch: `flywheel batch run`.',
      },
    );
  }
  const problems: string[] = [];
  const prepared = requests.map((request, index) => {
    try {
      return { request, amount: tokenAmountFromNumber(request.burnAmount, token.decimals) };
    } catch (error) {
      problems.push(
        `${pathText([...path(index), 'burnAmount'])}: ${(error as Error).message.replace(/\.$/, '')}`,
      );
      return { request, amount: 0n };
    }
  });
  if (problems.length > 0) {
    throw new FlywheelError('ERR_INVALID_REQUEST', `The request is not valid: ${listProblems(problems)}.`);
  }
  return prepared.map(({ request, amount }) => withProof(principal, request, amount, limits));
}

function withProof(
  principal: Principal,
  request: BurnRequest,
  amount: bigint,
  limits: EngineLimits,
): PreparedBurn | Refusal {
  if (!permitsProofType(principal, request.type)) {
    return {
      code: 'ERR_INVALID_PROOF',
      message: `The proof type ${JSON.stringify(request.type)} is not known or not permitted for this key.`,
    };
  }
  try {
    return { request, amount, proofHash: hashProof(request.proof, limits) };
  } catch (error) {
    return { code: 'ERR_INVALID_PROOF', message: `The proof is not valid: ${(error as Error).message}` };
  }
}

/**
 * The hash of a proof within the size limit.
 * @throws `ERR_INVALID_PROOF` when it is too large.
 */
export function hashProof(proof: BurnRequest['proof'], limits: EngineLimits): Sha256 {
  const text = canonicalJson(proof);
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > limits.maxProofBytes) {
    throw new FlywheelError(
      'ERR_INVALID_PROOF',
      `it has ${sizeBytes} bytes, more than ${limits.maxProofBytes}.`,
    );
  }
  return sha256(text);
}

/** A refused or failed element as the batch answer lists it. */
export const burnError = (request: BurnRequest, refusal: Refusal): BurnError => ({
  message: refusal.message,
  type: refusal.code,
  proof: request.proof,
  proofType: request.type,
});
