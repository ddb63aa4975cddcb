/** State of an engine for monitoring: unfinished work, leases, and SOL of its wallets. */
import type { Chain } from '../chain/chain.js';
import type { RecoveryScope } from '../contract/admin.js';
import type { EngineState } from '../contract/served-engine.js';
import { invariant } from '../errors/flywheel-error.js';
import type { StoreTransaction } from '../store/store.js';
import type { Address } from '../values/address.js';
import { currentRecord } from './batches/batch-context.js';
import type { EngineDeps } from './deps.js';
import { isWorkedOn } from './lease.js';

const MAX_PROJECTS = 100;
const MAX_DATED = 50;

type Owner = Omit<NonNullable<EngineState['wallets']>[number], 'lamports'> & { readonly address: Address };

export async function engineState(deps: EngineDeps): Promise<EngineState> {
  const { store, chain } = deps;
  const { owners, ...state } = await store.read(async (tx) => ({
    ...(await unfinishedState(tx)),
    gaps: (await tx.gaps.allOpen()).length,
    batches: await tx.batches.countByStatus(),
    owners: await walletOwners(tx),
  }));
  return { ...state, wallets: await walletsOf(chain, owners) };
}

async function unfinishedState(tx: StoreTransaction) {
  const { burns, setUps, executions, closings } = await tx.unfinished.all();
  const dates: (string | undefined)[] = [];
  for (const id of burns.slice(0, MAX_DATED)) dates.push((await tx.requests.find({ id }))?.dateCreated);
  for (const id of [setUps, executions, closings].flatMap((ids) => ids.slice(0, MAX_DATED)))
    dates.push((await tx.batches.find({ id }))?.dateUpdated);
  const [oldest] = dates.filter((date) => date !== undefined).sort();
  return {
    unfinished: {
      ...{ burns: burns.length, 'set-up': setUps.length },
      ...{ execution: executions.length, closing: closings.length },
    },
    oldestSeconds: oldest === undefined ? 0 : Math.max(0, (tx.nowMs - Date.parse(oldest)) / 1_000),
  };
}

async function walletOwners(tx: StoreTransaction): Promise<readonly Owner[]> {
  const owners: Owner[] = [];
  for (const { name, symbol, operator, burnWallet } of await tx.projects.list(MAX_PROJECTS)) {
    const project = name ?? symbol;
    owners.push(
      { project, wallet: 'operator', address: operator },
      { project, wallet: 'burn wallet', address: burnWallet },
    );
  }
  return owners;
}

async function walletsOf(chain: Chain, owners: readonly Owner[]): Promise<EngineState['wallets']> {
  try {
    const accounts = await chain.getAccounts(owners.map(({ address }) => address));
    return owners.map(({ project, wallet }, index) => ({
      ...{ project, wallet },
      lamports: accounts[index]?.lamports ?? 0n,
    }));
  } catch {
    return null;
  }
}

export const listUnfinished = ({ store }: EngineDeps, { tokenId }: RecoveryScope = {}) =>
  store.read(async (tx) => {
    const { burns, setUps, executions } = await tx.unfinished.all(tokenId ?? undefined);
    const work: Awaited<ReturnType<typeof burnsOf>>[] = [];
    for (const id of burns) work.push(await burnsOf(tx, id));
    for (const id of setUps) work.push(await batchOf(tx, id, 'initBatch'));
    for (const id of executions) work.push(await batchOf(tx, id, 'executeBatch'));
    return work;
  });

async function burnsOf(tx: StoreTransaction, requestId: string) {
  const request = await tx.requests.find({ id: requestId });
  invariant(request !== undefined, 'A request stays for as long as it has pending burns.');
  const burns = await tx.burns.ofRequest(requestId);
  return {
    ...{ id: requestId, operation: request.operation, idempotencyKey: request.value as string | null },
    ...{ running: isWorkedOn(tx, request), dateBegun: request.dateCreated },
    signatures: burns.filter(({ status }) => status === 'PENDING').map(({ signature }) => signature),
  };
}

async function batchOf(tx: StoreTransaction, batchId: string, operation: 'initBatch' | 'executeBatch') {
  const batch = await currentRecord(tx, batchId);
  const init = await tx.requests.find({ id: batch.requestId });
  const bundles = await tx.bundles.ofBatch(batchId);
  return {
    ...{ id: batchId, operation, running: isWorkedOn(tx, batch), dateBegun: batch.dateCreated },
    idempotencyKey: operation === 'initBatch' ? (init?.value ?? null) : null,
    signatures: bundles
      .filter(({ status }) => status === 'PENDING')
      .flatMap(({ transactions }) => transactions.map(({ signature }) => signature)),
  };
}
