/** Funds of a project: balances, remaining caps, and how long its SOL lasts. */
import type { Rent } from '../../chain/account.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { ProjectRecord } from '../../store/records.js';
import { proofHash } from '../../values/digest.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { flywheelOf } from '../batches/batch-context.js';
import { feeLamports, fundsLimits, newTokenAccountBytes, setupRentLamports } from '../batches/funds.js';
import { planPipeline } from '../batches/plan-batch.js';
import { usedToday } from '../caps.js';
import type { EngineDeps } from '../deps.js';
import { maxFeeLamports } from '../signing-terms.js';
import { readCaps, registrationView } from './project.js';

const SHARED_BY = 96n;

function pipelineRent(rentOf: Rent, project: ProjectRecord): bigint {
  const type = project.proofTypes[0] ?? 'A';
  const actions = [{ action: 'AIRDROP', toAddress: project.owner, amount: 1 }] as const;
  const sample = { payload: '{}', actions, type, proofHash: proofHash({}) };
  const planned = planPipeline(sample, flywheelOf(project));
  invariant(typeof planned !== 'string', 'A single airdrop fits a pipeline.');
  return rentOf(planned.accountBytes);
}

const least = (...amounts: readonly bigint[]): bigint =>
  amounts.reduce((lowest, amount) => (amount < lowest ? amount : lowest));
const atLeastNone = (amount: bigint): bigint => (amount < 0n ? 0n : amount);

/** Estimates for pipelines with one action each. */
async function pipelinesLeft(
  deps: EngineDeps,
  project: ProjectRecord,
  { operator, vault }: Awaited<ReturnType<typeof registrationStatus>>['balances'],
) {
  const operatorLamports = BigInt(operator.lamports);
  const { chain, limits, store } = deps;
  const funds = fundsLimits(limits, project);
  const rentOf = await chain.rent();
  const fixedRent = setupRentLamports(rentOf, []);
  const openRent = await store.read((tx) => tx.batches.rentLamports(project.id));
  const rent = pipelineRent(rentOf, project);
  const fixedFees = feeLamports(chain, 0);
  const sharedFees = feeLamports(chain, Number(SHARED_BY));
  const fees = (sharedFees - fixedFees + SHARED_BY - 1n) / SHARED_BY;
  const each = (sharedFees + SHARED_BY - 1n) / SHARED_BY;
  const kept = least(operatorLamports, funds.minOperatorLamports);
  const free = operatorLamports - kept;
  const atOnce = least(
    atLeastNone(free - fixedRent - fixedFees) / (rent + fees),
    atLeastNone(funds.maxOpenRentLamports - openRent - fixedRent) / rent,
    BigInt(limits.maxPipelines),
  );
  // Closing returns the rent, so only the rent that is out at the same time reduces the SOL for fees.
  const forFees = atLeastNone(free - fixedRent - atOnce * rent);
  const [mint] = await chain.getAccounts([project.mintAddress]);
  const accountRent = rentOf(newTokenAccountBytes(project, decodeMint(mint ?? null)));
  const forAccounts = atLeastNone(BigInt(vault.lamports) - rentOf(0));
  return {
    rentLamports: rent.toString(),
    /** Upper bound per pipeline, with its share of the batch's own fees. */
    feeLamports: each.toString(),
    openRentLamports: openRent.toString(),
    /** Pipelines that fit in one batch set up now. */
    atOnce: Number(atOnce),
    /** Paid by the vault for the token account of a new recipient. */
    vaultRentLamports: accountRent.toString(),
    /** Pipelines in consecutive batches, with one new recipient each. */
    lasts: atOnce === 0n ? '0' : least(forFees / each, forAccounts / accountRent).toString(),
  };
}

export async function vaultReport(deps: EngineDeps, project: ProjectRecord) {
  const status = await registrationStatus(deps, project);
  const { balances, name, symbol, mintAddress, multisig, vaultIndex, vaultAddress, ...rest } = status;
  const { burnWallet, owner, operator } = rest;
  const burnFee = maxFeeLamports(deps.chain);
  const burnLamports = BigInt(balances.burnWallet.lamports) - (await deps.chain.rent())(0);
  return {
    ...{ name, symbol, mintAddress, multisig, vaultIndex, vaultAddress },
    vaultTokenAccount: project.vaultTokenAccount as string,
    ...{ burnWallet, burnTokenAccount: project.burnTokenAccount as string, owner, operator, balances },
    today: await deps.store.read((tx) => readCaps(tx, project)),
    pipelines: await pipelinesLeft(deps, project, balances),
    /** Upper bound of the fee of one burn, and the number of burns that the burn wallet's SOL pays for. */
    burns: { feeLamports: burnFee.toString(), lasts: (atLeastNone(burnLamports) / burnFee).toString() },
  };
}

/** Token amounts are decimal text in whole tokens, lamports integer text. */
export async function registrationStatus(deps: EngineDeps, project: ProjectRecord) {
  const [mint, vaultTokens, vault, burnTokens, burnWallet, owner, operator] = await deps.chain.getAccounts([
    project.mintAddress,
    project.vaultTokenAccount,
    project.vault,
    project.burnTokenAccount,
    project.burnWallet,
    project.owner,
    project.operator,
  ]);
  const { used, recorded } = await deps.store.read(async (tx) => ({
    used: await usedToday(tx, project.id),
    recorded: await tx.rules.burned(project.id),
  }));
  const { supply = 0n, mintAuthority = null } = decodeMint(mint ?? null) ?? {};
  const whole = (amount: bigint): string => formatTokenAmount(amount, project.decimals);
  const tokens = (account: typeof vaultTokens): string =>
    whole(decodeTokenAccount(account ?? null)?.amount ?? 0n);
  const lamports = (account: typeof vault): string => (account?.lamports ?? 0n).toString();
  return {
    ...registrationView(project),
    supply: whole(supply),
    // With a mint authority the supply can grow, so it does not tell what was burned.
    burned: whole(mintAuthority === null ? project.supply - supply : recorded),
    balances: {
      vault: { tokens: tokens(vaultTokens), lamports: lamports(vault) },
      burnWallet: { tokens: tokens(burnTokens), lamports: lamports(burnWallet) },
      owner: { lamports: lamports(owner) },
      operator: { lamports: lamports(operator) },
    },
    usedToday: { burn: whole(used.burn), airdrop: whole(used.airdrop) },
  };
}
