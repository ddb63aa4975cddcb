/** Checks funds before anything is created: tokens and SOL of the vault, SOL of the operator. */
import { actionContent, actionRecipients } from '../../actions/registry.js';
import { LAMPORTS_PER_SIGNATURE, type Rent } from '../../chain/account.js';
import type { Chain } from '../../chain/chain.js';
import { SYSTEM_PROGRAM, tokenProgramAddress } from '../../chain/programs.js';
import { ACCOUNT_SIZE } from '../../chain/squads/accounts.js';
import { associatedTokenAddress } from '../../chain/squads/addresses.js';
import {
  chargesTransferFee,
  decodeMint,
  decodeTokenAccount,
  type Mint,
} from '../../chain/tokens/accounts.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { PlannedPipeline, ProjectRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { solText, tokenText } from '../../values/token-amount.js';
import type { Refusal } from '../burns/elements.js';
import type { EngineDeps, EngineLimits } from '../deps.js';
import { maxFeeLamports } from '../signing-terms.js';
import { type BatchContext, closingCount } from './batch-context.js';

const MEMBERS = 2;
/** Size of a token account created by the associated-token program (squads-v4.md, section 8). */
const TOKEN_ACCOUNT_BYTES = { token: 165, 'token-2022': 170 } as const;
/** Extension for withheld transfer fees (spl-token-2022, `TransferFeeAmount`). */
const TRANSFER_FEE_BYTES = 12;

export const newTokenAccountBytes = (
  { tokenProgram }: Pick<ProjectRecord, 'tokenProgram'>,
  mint: Mint | undefined,
): number => TOKEN_ACCOUNT_BYTES[tokenProgram] + (chargesTransferFee(mint) ? TRANSFER_FEE_BYTES : 0);

export const setupRentLamports = (rent: Rent, accountBytes: readonly number[]): bigint =>
  [ACCOUNT_SIZE.batch, ACCOUNT_SIZE.proposal(MEMBERS), ...accountBytes].reduce(
    (sum, bytes) => sum + rent(bytes),
    0n,
  );

/** Upper bound for set-up, the approvals of operator and owner, execution and closing. */
export const feeLamports = (chain: Chain, pipelines: number): bigint =>
  maxFeeLamports(chain) * BigInt(2 + pipelines) + feesAfterSetUp(chain, pipelines);

/** @param left - pipelines to execute */
export const feesAfterSetUp = (chain: Chain, pipelines: number, left = pipelines): bigint =>
  maxFeeLamports(chain) * BigInt(2 + left + closingCount(pipelines)) + LAMPORTS_PER_SIGNATURE;

export async function vaultRentLamports(
  chain: Chain,
  { project }: Pick<BatchContext, 'project'>,
  pipelines: readonly PlannedPipeline[],
): Promise<bigint> {
  const wallets = pipelines.flatMap(({ actions }) =>
    actions.flatMap((action) => actionRecipients(actionContent(action, project.decimals))),
  );
  const program = tokenProgramAddress(project.tokenProgram);
  const addresses = [...new Set(wallets)].map((wallet) =>
    associatedTokenAddress(wallet, project.mintAddress, program),
  );
  const [mint = null, ...found] = await chain.getAccounts([project.mintAddress, ...addresses]);
  const each = (await chain.rent())(newTokenAccountBytes(project, decodeMint(mint)));
  return addresses.reduce((sum, _, at) => {
    const { owner = SYSTEM_PROGRAM, lamports = 0n } = found[at] ?? {};
    return owner === SYSTEM_PROGRAM && lamports < each ? sum + each - lamports : sum;
  }, 0n);
}

export interface PlannedBatch {
  readonly pipelines: readonly PlannedPipeline[];
  readonly rentLamports: bigint;
  readonly vaultRentLamports: bigint;
  /** Base units of all actions. */
  readonly tokens: bigint;
  readonly held: Awaited<ReturnType<typeof readFunds>>;
}

/** What vault and operator have, and what both must keep. `asOf` is earlier than the balances. */
export async function readFunds({ chain, store, limits }: EngineDeps, { project, operator }: BatchContext) {
  const asOf = isoTime(await store.read(async ({ nowMs }) => nowMs));
  const [[vaultTokens, vault, payer], rent] = await Promise.all([
    chain.getAccounts([project.vaultTokenAccount, project.vault, operator.address]),
    chain.rent(),
  ]);
  const { minOperatorLamports: minimum } = fundsLimits(limits, project);
  return {
    asOf,
    vaultTokens: decodeTokenAccount(vaultTokens ?? null)?.amount ?? 0n,
    vaultLamports: vault?.lamports ?? 0n,
    operatorLamports: payer?.lamports ?? 0n,
    keptByVault: rent(0),
    keptByOperator: minimum > rent(0) ? minimum : rent(0),
  };
}

/**
 * @param unpaid - rent of batches in set-up, which the operator still has.
 * @returns a problem for each shortage, with the amount and the address to fund; empty when vault and operator can pay.
 */
export function missingFunds(
  chain: Chain,
  { project, operator }: BatchContext,
  { held, pipelines, rentLamports, vaultRentLamports: opened, tokens }: PlannedBatch,
  unpaid = 0n,
): readonly Refusal[] {
  const problems: Refusal[] = [];
  const lacks = (who: string, has: string, needs: string, more = ''): void => {
    const message = `insufficient funds: the ${who} has ${has} and needs ${needs}${more}`;
    problems.push({ code: 'ERR_INSUFFICIENT_FUNDS', message });
  };
  if (held.vaultTokens < tokens)
    lacks(`vault ${project.vault}`, tokenText(held.vaultTokens, project), tokenText(tokens, project));
  const vaultNeeds = opened === 0n ? 0n : opened + held.keptByVault;
  if (held.vaultLamports < vaultNeeds) {
    const why = ` (${solText(opened)} to open token accounts of recipients, the rest to stay open itself)`;
    lacks(`vault ${project.vault}`, solText(held.vaultLamports), solText(vaultNeeds), why);
  }
  const costs = rentLamports + feeLamports(chain, pipelines.length);
  const operatorNeeds = costs + unpaid + held.keptByOperator;
  if (held.operatorLamports < operatorNeeds) {
    const others = unpaid === 0n ? '' : `${solText(unpaid)} for batches in set-up, `;
    const why = ` (${solText(costs)} for fees and rent, ${others}the rest as a reserve)`;
    lacks(`operator ${operator.address}`, solText(held.operatorLamports), solText(operatorNeeds), why);
  }
  return problems;
}

export const fundsLimits = (
  limits: EngineLimits,
  { minOperatorSol, maxBatchRent }: ProjectRecord,
): Pick<EngineLimits, 'minOperatorLamports' | 'maxOpenRentLamports'> => ({
  minOperatorLamports: minOperatorSol ?? limits.minOperatorLamports,
  maxOpenRentLamports: maxBatchRent ?? limits.maxOpenRentLamports,
});

/**
 * Rent stays locked until a batch is closed, so open batches have a common limit.
 * @throws `ERR_INSUFFICIENT_FUNDS` with the locked amount and how to release it.
 */
export async function requireRoomForRent(
  { limits }: EngineDeps,
  tx: StoreTransaction,
  { project }: BatchContext,
  rentLamports: bigint,
): Promise<void> {
  const open = await tx.batches.rentLamports(project.id);
  const { maxOpenRentLamports } = fundsLimits(limits, project);
  if (open + rentLamports <= maxOpenRentLamports) return;
  throw new FlywheelError(
    'ERR_INSUFFICIENT_FUNDS',
    `The batch is refused and nothing was created: waiting batches lock ${solText(open)} of rent, this batch would lock ${solText(rentLamports)} more, and the maximum is ${solText(maxOpenRentLamports)}.`,
    { hint: 'Execute or cancel waiting batches: `flywheel pending`' },
  );
}
