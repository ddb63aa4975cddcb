/** Dry run of burns or a batch, with the checks of the real operations; writes nothing. */
import { decodeMint, decodeTokenAccount } from '../chain/tokens/accounts.js';
import type { BatchForesight, BurnsForesight, Change, ForeseenFailure } from '../contract/local-admin.js';
import type { InitBatchRequest } from '../contract/schemas/batch.js';
import type { BurnRequest } from '../contract/schemas/burn.js';
import type { TokenRecord } from '../store/records.js';
import type { Secret } from '../values/secret.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { pipelineList } from './batches/check-pipelines.js';
import { feeLamports, requireRoomForRent } from './batches/funds.js';
import { checkAndPlan } from './batches/init-batch.js';
import { allowanceOf, readBurnWallet } from './burns/chunk.js';
import { isRefusal, prepareBurns, type Refusal } from './burns/elements.js';
import { amountsOf, usedToday } from './caps.js';
import type { EngineDeps } from './deps.js';
import { admit, requireFlywheel, requireToken } from './operation.js';

/** @throws `ERR_UNAUTHORIZED`, `ERR_KEY_SCOPES_UNAUTHORIZED`, `ERR_TOKEN_NOT_FOUND` */
export async function foreseeBurns(
  deps: EngineDeps,
  requests: readonly BurnRequest[],
  credential: Secret | null,
): Promise<BurnsForesight> {
  const principal = await admit(deps.store, credential, 'burn');
  const token = requireToken(principal);
  const prepared = await prepareBurns(principal, requests, deps.limits);
  const [balance, { supply }, { day, burn: used }] = await Promise.all([
    readBurnWallet(deps.chain, token),
    readTokens(deps, token),
    deps.store.read((tx) => usedToday(tx, token.id)),
  ]);
  const take = allowanceOf({ deps, token, principal }, balance, { day, used });
  let burned = 0n;
  const failures: ForeseenFailure[] = [];
  for (const [index, burn] of prepared.entries()) {
    const refusal: Refusal | undefined = isRefusal(burn) ? burn : take(burn.amount);
    if (refusal !== undefined) failures.push({ index, type: refusal.code, message: refusal.message });
    else if (!isRefusal(burn)) burned += burn.amount;
  }
  const change = changes(token);
  return {
    failures,
    burnWallet: change(balance.tokens, -burned),
    supply: change(supply, -burned),
    usedToday: change(used, burned),
  };
}

/** @throws the same error as init, with every problem. */
export async function foreseeBatch(
  deps: EngineDeps,
  request: InitBatchRequest,
  credential: Secret | null,
): Promise<BatchForesight> {
  const principal = await admit(deps.store, credential, 'initBatch');
  const list = pipelineList(request, deps.limits);
  const token = requireToken(principal);
  const flywheel = requireFlywheel(principal);
  const context = { token, flywheel, operator: deps.keyring.get(flywheel.operator, 'operator') };
  const planned = await checkAndPlan(deps, principal, context, list);
  const { pipelines, rentLamports: rent, vaultRentLamports } = planned;
  await deps.store.read((tx) => requireRoomForRent(deps, tx, context, rent));
  const [{ supply, vault }, used] = await Promise.all([
    readTokens(deps, token, flywheel.vaultTokenAccount),
    deps.store.read((tx) => usedToday(tx, token.id)),
  ]);
  const { burn, airdrop } = amountsOf(pipelines);
  const change = changes(token);
  return {
    vault: change(vault, -burn - airdrop),
    supply: change(supply, -burn),
    usedToday: { burn: change(used.burn, burn), airdrop: change(used.airdrop, airdrop) },
    costs: {
      feeLamports: feeLamports(deps.chain, pipelines.length).toString(),
      rentPaidLamports: rent.toString(),
      vaultRentLamports: vaultRentLamports.toString(),
    },
  };
}

const changes =
  ({ decimals }: TokenRecord) =>
  (before: bigint, by: bigint): Change => ({
    before: formatTokenAmount(before, decimals),
    after: formatTokenAmount(before + by, decimals),
  });

async function readTokens(
  { chain }: EngineDeps,
  { mintAddress }: TokenRecord,
  vaultAccount = mintAddress,
): Promise<{ readonly supply: bigint; readonly vault: bigint }> {
  const [mint, vault] = await chain.getAccounts([mintAddress, vaultAccount]);
  return {
    supply: decodeMint(mint ?? null)?.supply ?? 0n,
    vault: decodeTokenAccount(vault ?? null)?.amount ?? 0n,
  };
}
