/** Dry run of burns or a batch, with the checks of the real operations; writes nothing. */
import { decodeMint, decodeTokenAccount } from '../chain/tokens/accounts.js';
import type { InitBatchRequest } from '../contract/schemas/batch.js';
import type { BurnError, BurnRequest } from '../contract/schemas/burn.js';
import type { ProjectRecord } from '../store/records.js';
import type { Secret } from '../values/secret.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { contextOf } from './batches/batch-context.js';
import { pipelineList } from './batches/check-pipelines.js';
import { feeLamports, requireRoomForRent } from './batches/funds.js';
import { checkAndPlan } from './batches/init-batch.js';
import { allowanceOf, readBurnWallet } from './burns/chunk.js';
import { isRefusal, prepareBurns } from './burns/elements.js';
import { amountsOf, usedToday } from './caps.js';
import type { EngineDeps } from './deps.js';
import { admit } from './operation.js';

type Failure = Pick<BurnError, 'type' | 'message'> & { readonly index: number };

/** Assumes that nothing else is sent meanwhile. @throws `ERR_UNAUTHORIZED`, `ERR_KEY_SCOPES_UNAUTHORIZED` */
export async function foreseeBurns(
  deps: EngineDeps,
  requests: readonly BurnRequest[],
  credential: Secret | null,
) {
  const principal = await admit(deps.store, credential, 'burn');
  const { project } = principal;
  const prepared = await prepareBurns(principal, requests, deps.limits);
  const [balance, { supply }, { day, burn: used }] = await Promise.all([
    readBurnWallet(deps.chain, project),
    readTokens(deps, project),
    deps.store.read((tx) => usedToday(tx, project.id)),
  ]);
  const take = allowanceOf({ deps, project }, balance, { day, used });
  let burned = 0n;
  const failures: readonly Failure[] = prepared.flatMap((burn, index) => {
    const refusal = isRefusal(burn) ? burn : take(burn.amount);
    if (refusal !== undefined) return { index, type: refusal.code, message: refusal.message };
    if (!isRefusal(burn)) burned += burn.amount;
    return [];
  });
  const change = changes(project);
  return {
    failures,
    burnWallet: change(balance.tokens, -burned),
    supply: change(supply, -burned),
    usedToday: change(used, burned),
  };
}

/** Assumes execution today. @throws the same error as init, with every problem. */
export async function foreseeBatch(deps: EngineDeps, request: InitBatchRequest, credential: Secret | null) {
  const principal = await admit(deps.store, credential, 'initBatch');
  const list = pipelineList(request, deps.limits);
  const context = contextOf(deps, principal);
  const { project } = context;
  const planned = await checkAndPlan(deps, principal, context, list);
  const { pipelines, rentLamports: rent, vaultRentLamports } = planned;
  await deps.store.read((tx) => requireRoomForRent(deps, tx, context, rent));
  const [{ supply, vault }, used] = await Promise.all([
    readTokens(deps, project, project.vaultTokenAccount),
    deps.store.read((tx) => usedToday(tx, project.id)),
  ]);
  const { burn, airdrop } = amountsOf(pipelines);
  const change = changes(project);
  return {
    vault: change(vault, -burn - airdrop),
    supply: change(supply, -burn),
    usedToday: { burn: change(used.burn, burn), airdrop: change(used.airdrop, airdrop) },
    costs: {
      feeLamports: feeLamports(deps.chain, pipelines.length).toString(),
      /** The operator pays this rent and gets it back when the batch is closed. */
      rentPaidLamports: rent.toString(),
      /** The vault pays this rent for token accounts of recipients and does not get it back. */
      vaultRentLamports: vaultRentLamports.toString(),
    },
  };
}

const changes =
  ({ decimals }: ProjectRecord) =>
  (before: bigint, by: bigint) => ({
    before: formatTokenAmount(before, decimals),
    after: formatTokenAmount(before + by, decimals),
  });

async function readTokens(
  { chain }: EngineDeps,
  { mintAddress }: ProjectRecord,
  vaultAccount = mintAddress,
): Promise<{ readonly supply: bigint; readonly vault: bigint }> {
  const [mint, vault] = await chain.getAccounts([mintAddress, vaultAccount]);
  return {
    supply: decodeMint(mint ?? null)?.supply ?? 0n,
    vault: decodeTokenAccount(vault ?? null)?.amount ?? 0n,
  };
}
