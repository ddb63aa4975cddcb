/** `flywheel db …`: brings a database up to date and tells how it is doing; looks for what must not be, in a data directory too. */
import type { Chain } from '../chain/chain.js';
import { clusterName } from '../chain/node-address.js';
import { decodeMint } from '../chain/tokens/accounts.js';
import type { DatabaseAdmin, DatabaseFinding, DatabaseStatus } from '../contract/database-admin.js';
import { openGapIn } from '../engine/gaps/accept-gap.js';
import { unknownOf } from '../engine/gaps/unknown.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Inspection } from '../store/postgres/inspect.js';
import type { TokenRecord } from '../store/records.js';
import { lookIntoSqliteStore } from '../store/sqlite/open.js';
import type { Store, StoreTransaction } from '../store/store.js';
import type { DatabaseAddress } from '../values/database-address.js';
import type { Ambient } from './context.js';
import { openDatabase } from './database.js';
import { dataFiles } from './local-config.js';
import { whileOpen } from './opened.js';
import { databaseOf, requirePlace } from './place.js';
import type { Settings } from './settings.js';

/** Burns of a project that are looked up, the newest. */
const LOOKED_UP = 100;

function statusOf(address: DatabaseAddress, found: Inspection): DatabaseStatus {
  const { server, content, tables, version, needed } = found;
  const counts = content?.counts ?? {};
  const genesis = counts['genesis'];
  return {
    ...{ database: address.shown, source: address.name, serverVersion: String(server['server_version']) },
    latencyMs: Math.round(found.latencyMs * 10) / 10,
    schema: { version, needed, upToDate: version === needed },
    chain: typeof genesis === 'string' ? { name: clusterName(genesis), genesisHash: genesis } : null,
    projects: {
      count: Number(counts['projects'] ?? 0),
      first: (content?.projects ?? []).map(({ name, symbol, mint_address }) => ({
        name: typeof name === 'string' ? name : null,
        ...{ symbol: String(symbol), mintAddress: String(mint_address) },
      })),
    },
    sizes: {
      bytes: Number(server['bytes']),
      tables: tables.map(({ name, rows, bytes }) => ({
        ...{ name: String(name), rows: Number(rows), bytes: Number(bytes) },
      })),
    },
    connections: {
      flywheel: Number(server['own_connections']),
      all: Number(server['all_connections']),
      max: Number(server['max_connections']),
    },
    pending: { burns: Number(counts['burns'] ?? 0), batches: Number(counts['batches'] ?? 0) },
    holders: (content?.holders ?? []).map(({ instance, requests, batches }) => ({
      ...{ instance: String(instance), requests: Number(requests), batches: Number(batches) },
    })),
    openGaps: Number(counts['gaps'] ?? 0),
    heldUntilBlock: counts['held_until'] == null ? null : String(counts['held_until']),
  };
}

/** The newest burns that have landed are on the chain, the store knows all that is, and no supply is higher than what was burned leaves. */
async function checkOnChain(store: Store, chain: Chain): Promise<readonly DatabaseFinding[]> {
  const findings: DatabaseFinding[] = [];
  for (const token of await store.read((tx) => tx.tokens.list()))
    findings.push(
      await checkLanded(store, chain, token),
      await checkKnown(store, chain, token),
      await checkSupply(chain, token, await store.read((tx) => tx.rules.burned(token.id))),
    );
  return findings;
}

async function checkLanded(store: Store, chain: Chain, token: TokenRecord): Promise<DatabaseFinding> {
  const burns = await store.read(async (tx) => {
    const { items } = await tx.burns.list({ tokenId: token.id, statuses: ['FINAL'], limit: LOOKED_UP });
    return items;
  });
  const traces = await chain.trace(burns);
  const missing = burns.filter((_, at) => traces[at]?.kind === 'never').map(({ signature }) => signature);
  const name = `landed ${token.symbol}`;
  return missing.length === 0
    ? { name, ok: true, detail: `${burns.length} burns are on chain` }
    : {
        name,
        ok: false,
        detail: `${missing.length} of ${burns.length} burns are not on chain, first ${missing[0]}`,
      };
}

/** An older copy of the store is whole by itself; that it is older, only the chain tells. */
async function checkKnown(store: Store, chain: Chain, token: TokenRecord): Promise<DatabaseFinding> {
  const { lost } = await unknownOf({ store, chain }, token.id);
  // What was found before is in the store: once as a gap that nobody has accepted.
  const gap = await store.read((tx) => openGapIn(tx, token.id));
  const missing = [...(gap?.lost ?? []), ...lost];
  const name = `known ${token.symbol}`;
  const [first] = missing;
  if (first === undefined) return { name, ok: true, detail: 'every on-chain transaction is in the store' };
  const burned = missing.reduce((sum, one) => sum + one.burned, 0n);
  return {
    ...{ name, ok: false },
    detail: `on-chain transactions that the store does not know: ${missing.length}, burned ${burned} base units, first ${first.signature}. The store is an older copy, or somebody else signs with its keys (\`flywheel db accept-gap\`)`,
  };
}

async function checkSupply(chain: Chain, token: TokenRecord, burned: bigint): Promise<DatabaseFinding> {
  const [account] = await chain.getAccounts([token.mintAddress]);
  const mint = decodeMint(account ?? null);
  const supply = mint?.supply ?? 0n;
  const name = `supply ${token.symbol}`;
  const detail = `registered ${token.supply}, burned ${burned}, on chain ${supply} base units`;
  // Who may mint makes up for what was burned.
  const isFixed = mint?.mintAuthority === null;
  const ok = !isFixed || token.supply - burned >= supply;
  return { name, ok, detail: ok ? detail : `${detail}: less was burned than the store says` };
}

/** Every row of the database or of the data directory, held to every rule. @throws `ERR_LOCAL_NOT_FOUND` */
async function checkRows(settings: Settings): Promise<readonly DatabaseFinding[]> {
  const place = requirePlace(settings);
  const check = ({ rules }: StoreTransaction): ReturnType<typeof rules.check> => rules.check();
  const broken =
    place.kind === 'directory'
      ? await lookIntoSqliteStore(dataFiles(settings.dataDir.value).store, check)
      : await checkDatabase(place.address, check);
  return broken.map(({ name, what, wrong }) => ({
    ...{ name, ok: wrong === 0 },
    detail: `${wrong === 0 ? 'no' : wrong} ${what}`,
  }));
}

/** A schema that is not this build's is refused before anything is read of it. */
async function checkDatabase<Found>(
  address: DatabaseAddress,
  check: (tx: StoreTransaction) => Promise<Found>,
): Promise<Found> {
  const terms = { schema: 'require', readers: 1, isPatient: true } as const;
  return whileOpen(async (opened) => opened.keep(await openDatabase(address, terms)).read(check));
}

export function createDatabaseAdmin(ambient: Ambient, settings: Settings): DatabaseAdmin {
  /** @throws `ERR_CONFIG_INVALID` where no database is named. */
  const named = (): DatabaseAddress => {
    const address = settings.database.value;
    if (address !== null) return address;
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No database is set.', {
      hint: 'Set FLYWHEEL_DATABASE_URL, or name a file with its address: --database-url-file.',
    });
  };
  return {
    migrate: async ({ isDryRun }) => {
      const address = named();
      databaseOf(settings);
      const { upgradeStore } = await import('../store/postgres/upgrade.js');
      return { database: address.shown, ...(await upgradeStore({ url: address.reveal(), isDryRun })) };
    },
    copy: async () => {
      const address = named();
      return (await import('./copy-store.js')).copyIntoDatabase(settings, address);
    },
    status: async () => {
      const address = named();
      const { inspectStore } = await import('../store/postgres/inspect.js');
      return statusOf(address, await inspectStore(address.reveal()));
    },
    check: async ({ onChain }) => {
      const findings = await checkRows(settings);
      if (!onChain) return findings;
      const { openEngine } = await import('./open-engine.js');
      return whileOpen(async (opened) => {
        const { store, chain, verify } = opened.keep(await openEngine(ambient, settings));
        await verify();
        return [...findings, ...(await checkOnChain(store, chain))];
      });
    },
  };
}
