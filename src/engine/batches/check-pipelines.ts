/** Pipelines as they came → pipelines that may be compiled, or every reason why not, each with pipeline and action index. */
import { isOnCurve } from '../../chain/squads/layouts/curve.js';
import type { InitBatchRequest, Pipeline, SupportedAction } from '../../contract/schemas/batch.js';
import type { Scope } from '../../contract/schemas/scalars.js';
import { listProblems } from '../../contract/validate.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { TokenRecord } from '../../store/records.js';
import { address, addressBytes } from '../../values/address.js';
import type { JsonObject, JsonValue } from '../../values/canonical-json.js';
import type { Sha256 } from '../../values/digest.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { tokenAmountFromNumber } from '../../values/token-amount.js';
import { type Principal, permitsProofType } from '../auth/authenticate.js';
import { hashProof } from '../burns/prepare-burns.js';
import type { EngineLimits } from '../deps.js';

export interface CheckedPipeline {
  readonly type: string;
  readonly payload: string;
  readonly proofHash: Sha256;
  readonly actions: readonly SupportedAction[];
}

interface Problem {
  readonly code: ErrorCode;
  readonly text: string;
}

const SCOPE_OF_ACTION: Readonly<Record<SupportedAction['action'], Scope | null>> = {
  BURN: 'burn',
  AIRDROP: 'airdrop',
  MEMO: null,
};

/**
 * Checks types, proofs, scopes, amounts and addresses of every pipeline.
 * @throws the code that all problems share, or `ERR_INVALID_REQUEST` when they differ; the message lists all of them.
 */
export function checkPipelines(
  principal: Principal,
  token: TokenRecord,
  { pipelines }: InitBatchRequest,
  limits: EngineLimits,
): readonly CheckedPipeline[] {
  if (pipelines.length > limits.maxPipelines) {
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `A batch has at most ${limits.maxPipelines} pipelines, got ${pipelines.length}.`,
    );
  }
  const problems: Problem[] = [];
  const checked = pipelines.map((pipeline, index): CheckedPipeline => {
    const where = `pipelines[${index}]`;
    const proofHash = checkProof(principal, pipeline, limits, where, problems);
    const actions = pipeline.actions.flatMap((action, position) => {
      const problem = actionProblem(principal, token, action);
      if (problem === undefined) return [action as SupportedAction];
      problems.push({ code: problem.code, text: `${where}.actions[${position}]: ${problem.text}` });
      return [];
    });
    return { type: pipeline.type, payload: pipeline.payload, proofHash, actions };
  });
  if (problems.length > 0) throw problemsError(problems);
  return checked;
}

function problemsError(problems: readonly Problem[]): FlywheelError {
  const codes = new Set(problems.map(({ code }) => code));
  const [only] = codes;
  const code = codes.size === 1 && only !== undefined ? only : 'ERR_INVALID_REQUEST';
  return new FlywheelError(
    code,
    `The batch is refused and nothing was created: ${listProblems(problems.map(({ text }) => text))}.`,
  );
}

const NO_HASH = '' as Sha256;

function checkProof(
  principal: Principal,
  pipeline: Pipeline,
  limits: EngineLimits,
  where: string,
  problems: Problem[],
): Sha256 {
  if (!permitsProofType(principal, pipeline.type)) {
    const text = `${where}.type: the proof type ${JSON.stringify(pipeline.type)} is not known or not permitted for this key`;
    problems.push({ code: 'ERR_INVALID_PROOF', text });
  }
  try {
    return hashProof(payloadObject(pipeline.payload), limits);
  } catch (error) {
    const reason = (error as Error).message.replace(/\.$/, '');
    problems.push({ code: 'ERR_INVALID_PROOF', text: `${where}.payload: ${reason}` });
    return NO_HASH;
  }
}

function payloadObject(payload: string): JsonObject {
  const { value } = parseStrictJson(payload);
  if (isObject(value)) return value;
  throw new FlywheelError('ERR_INVALID_PROOF', 'expected a JSON object as text');
}

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function actionProblem(
  principal: Principal,
  token: TokenRecord,
  action: Pipeline['actions'][number],
): Problem | undefined {
  if (!isSupported(action)) {
    return { code: 'ERR_ACTION_NOT_SUPPORTED', text: `the action ${action.action} is not available` };
  }
  const scope = SCOPE_OF_ACTION[action.action];
  if (scope !== null && !principal.key.scopes.includes(scope)) {
    return {
      code: 'ERR_KEY_SCOPES_UNAUTHORIZED',
      text: `${action.action} needs a key with the scope \`${scope}\``,
    };
  }
  if (action.action === 'MEMO') return undefined;
  try {
    tokenAmountFromNumber(action.amount, token.decimals);
  } catch (error) {
    return { code: 'ERR_INVALID_REQUEST', text: (error as Error).message.replace(/\.$/, '') };
  }
  return action.action === 'AIRDROP' ? recipientProblem(action.toAddress) : undefined;
}

const isSupported = (action: Pipeline['actions'][number]): action is SupportedAction =>
  Object.hasOwn(SCOPE_OF_ACTION, action.action);

function recipientProblem(toAddress: string): Problem | undefined {
  if (isOnCurve(addressBytes(address(toAddress)))) return undefined;
  const text = `toAddress ${toAddress} is not a wallet: no key can exist for it (it is off the curve), so tokens sent there could be lost`;
  return { code: 'ERR_INVALID_REQUEST', text };
}
