/** How an engine stands, for those who watch it: what it holds, what is unfinished, what its projects have to pay with. */
import type { Chain } from '../chain/chain.js';
import type { EngineState, WalletState } from '../contract/served-engine.js';
import type { StoreTransaction } from '../store/store.js';
import type { Address } from '../values/address.js';
import type { EngineDeps } from './deps.js';

/** Of more projects than these the wallets are not looked at: each would be a series of its own. */
const MAX_PROJECTS = 100;
/** Of so many pieces of work the oldest is looked for. */
const MAX_DATED = 50;

type Owner = Omit<WalletState, 'lamports'> & { readonly address: Address };

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

async function unfinishedState(
  tx: StoreTransaction,
): Promise<Pick<EngineState, 'unfinished' | 'oldestSeconds'>> {
  const burns = await tx.unfinished.burnRequests();
  const setUps = await tx.unfinished.setUps();
  const executions = await tx.unfinished.executions();
  const closings = await tx.unfinished.closings();
  const dates: (string | undefined)[] = [];
  for (const id of burns.slice(0, MAX_DATED)) dates.push((await tx.requests.get(id))?.dateCreated);
  for (const id of [...setUps.slice(0, MAX_DATED), ...executions.slice(0, MAX_DATED)])
    dates.push((await tx.batches.head(id))?.dateUpdated);
  const [oldest] = dates.filter((date) => date !== undefined).sort();
  return {
    unfinished: {
      burns: burns.length,
      'set-up': setUps.length,
      execution: executions.length,
      closing: closings.length,
    },
    oldestSeconds: oldest === undefined ? 0 : Math.max(0, (tx.nowMs - Date.parse(oldest)) / 1_000),
  };
}

async function walletOwners(tx: StoreTransaction): Promise<readonly Owner[]> {
  const owners: Owner[] = [];
  for (const token of (await tx.tokens.list()).slice(0, MAX_PROJECTS)) {
    const flywheel = await tx.flywheels.ofToken(token.id);
    if (flywheel === undefined) continue;
    const project = flywheel.name ?? token.symbol;
    owners.push(
      { project, wallet: 'operator', address: flywheel.operator },
      { project, wallet: 'burn wallet', address: token.burnWallet },
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
    // That the chain does not answer is told by other means.
    return null;
  }
}
