/**
 * The only way from tests that speak HTTP to a service in this process: they import nothing of `src`. A redesign of `src` changes
 * this file only.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import Database from 'libsql';
import { bundleSizeOf, type Chain } from '../../src/chain/chain.js';
import { dataFiles } from '../../src/compose/local-config.js';
import type { KeyTerms, RegisterInput } from '../../src/contract/admin.js';
import type { Registration } from '../../src/engine/admin/project.js';

import type { EngineParts } from '../../src/engine/deps.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { LEASE_MS, Leases } from '../../src/engine/lease.js';
import { FlywheelError } from '../../src/errors/flywheel-error.js';
import { createMemoryCounts } from '../../src/http/rate-limit.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import type { Store } from '../../src/store/store.js';
import type { Address } from '../../src/values/address.js';
import { base58Encode } from '../../src/values/bytes.js';
import { RunningClock } from '../support/clock.js';
import { replacing } from '../support/doubles.js';
import { landedCount, openTestEngine, passBlocks, storeBy, type TestEngine } from '../support/engine.js';
import { type RunningServer, startServer } from '../support/http.js';
import { openDatabaseStore } from '../support/postgres.js';
import { rawSqlite, type StoreUnderTest } from '../support/store.js';
import type { FaultRule } from '../test-cluster/faults.js';
import { openCluster, type TestCluster } from '../test-cluster/open-cluster.js';

export type Project = Registration & {
  readonly key: string;
  /** 64-byte secret key in hex. */
  readonly ownerSecret: string;
};

export type ProjectInput = Partial<Omit<RegisterInput, 'owner'>>;

export type { AnswerOf } from '../../src/contract/service.js';
export type { Scope } from '../../src/values/key-terms.js';

export interface OtherServer {
  readonly apiKeyHeader?: string;
  /** By operation; `{}` uses the limits of the contract. @default wide limits */
  readonly rateLimits?: Readonly<Record<string, { name: string; points: number; windowSeconds: number }>>;
  /** Every chain call fails: with an internal error that holds a secret, or because no node answers. `forgetful`: knows no blockhash. */
  readonly chain?: 'broken' | 'unreachable' | 'forgetful';
  /** The service dies at this point and stores nothing after it. */
  readonly dies?: 'before blockhash' | 'before sending' | 'after landing';
  /** Awaited before the chain gets the n-th list of transactions or bundles, counted from 1. */
  readonly beforeSending?: (nth: number, sent: readonly Uint8Array[]) => Promise<unknown>;
  readonly afterCommit?: () => Promise<unknown>;
  /** Timeout of a store that another process has locked. */
  readonly storePatienceMs?: number;
  readonly maxBodyBytes?: number;
}

type StoreFault =
  | { readonly damagedBatch: string }
  /** The store refuses the project's burns after this many. */
  | { readonly roomForBurns: number; readonly tokenId: string }
  | { readonly locked: true };

interface ServiceOptions {
  /** @default sqlite */
  readonly store?: 'sqlite' | 'postgres';
  /** @default local */
  readonly chain?: 'local' | 'cluster';
  readonly faults?: readonly FaultRule[];
  readonly seed?: number;
  /** Servers on one store, used in turn. @default 1 */
  readonly servers?: number;
}

export type InProcessService = Awaited<ReturnType<typeof serviceOf>>;
export type LandedTransaction = NonNullable<Awaited<ReturnType<InProcessService['transaction']>>>;

const CLOSE_MS = 5_000;

export async function openService(options: ServiceOptions = {}): Promise<InProcessService> {
  const clock = new RunningClock();
  const database = options.store === 'postgres' ? await openDatabaseStore() : undefined;
  const owner = Keypair.generate();
  const terms = { clock, ...(database && { store: database.store }) };
  const test = await openTestEngine({ owner: owner.publicKey.toBase58() }, terms);
  const { faults = [], seed = 1 } = options;
  const more = async () => ({ maxPriorityFeeLamports: 0n });
  const cluster = options.chain === 'cluster' ? await openCluster(test, { faults, seed, more }) : undefined;
  const close = async (): Promise<void> => {
    await cluster?.close();
    await test.destroy();
    await database?.dispose();
  };
  return serviceOf({ test, clock, database, cluster, owner, close }, options.servers ?? 1);
}

/** The same over an engine, owner and cluster that the caller opens. */
export async function openServiceOver(
  open: (owner: string) => Promise<Pick<World, 'test' | 'cluster' | 'close'>>,
): Promise<InProcessService> {
  const owner = Keypair.generate();
  const opened = await open(owner.publicKey.toBase58());
  return serviceOf({ ...opened, clock: new RunningClock(), database: undefined, owner }, 1);
}

async function serviceOf(parts: Omit<World, 'chain' | 'passed'>, servers: number) {
  const { test, clock, database, owner } = parts;
  const world: World = { ...parts, chain: parts.cluster?.chain ?? test.chain, passed: { ms: 0 } };
  const main: RunningServer[] = [];
  const rooms: Rooms = new Map();
  for (let at = 0; at < servers; at += 1) {
    const store = at === 0 || database === undefined ? test.deps.store : await database.openAgain();
    main.push(await serve(world, engineOver(world, { store: storeWith(store, rooms) }), {}));
  }
  return {
    urls: main.map(({ url }) => url),
    project: projectOf(test.project, owner),
    /** The most transactions of a batch that land together. */
    bundleSize: bundleSizeOf(world.chain),
    ...administration(world),
    ...chainOf(world),
    nowMs: () => clock.nowMs(),
    /** Advances the clocks of the service and of its rate limits. */
    passTime: (ms: number) => {
      void world.cluster?.settle();
      clock.pass(ms);
      world.passed.ms += ms;
    },
    /** Runs recovery and cleanup with a clock that is ahead. */
    reconcile: async (aheadMs = 0) => {
      const ahead = { nowMs: () => clock.nowMs() + aheadMs };
      const { store } = test.deps;
      await engineOver(
        world,
        aheadMs === 0 ? {} : { clock: ahead, store: storeBy(store, ahead) },
      ).reconcile();
    },
    /** @returns a function that ends the fault, if it can end. */
    breakStore: (fault: StoreFault) => breakStore(dataFiles(test.dataDir).store, rooms, fault),
    beside: (other: OtherServer, use: (url: string) => Promise<void>) => beside(world, other, use),
    async close() {
      for (const server of main) await server.closeGracefully(CLOSE_MS);
      await world.close();
    },
  };
}

interface World {
  readonly test: TestEngine;
  readonly clock: RunningClock;
  readonly passed: { ms: number };
  readonly database: StoreUnderTest | undefined;
  readonly cluster: TestCluster | undefined;
  readonly chain: Chain;
  readonly owner: Keypair;
  readonly close: () => Promise<void>;
}

const engineOver = ({ test, chain }: World, parts: Partial<EngineParts>): Engine =>
  createEngine({ ...test.deps, chain, leases: new Leases('server'), ...parts });

function serve({ passed }: World, engine: Engine, other: OtherServer): Promise<RunningServer> {
  const { apiKeyHeader, rateLimits, maxBodyBytes } = other;
  const options = {
    ...(apiKeyHeader === undefined ? {} : { apiKeyHeader }),
    ...(rateLimits === undefined ? {} : { rates: rateLimits }),
    ...(maxBodyBytes === undefined ? {} : { limits: { maxBodyBytes } }),
  };
  return startServer({ engine, rateCounts: createMemoryCounts(() => passed.ms * 1_000) }, options);
}

const projectOf = ({ registration, key }: TestEngine['project'], owner: Keypair): Project => ({
  ...registration,
  key: key.reveal(),
  ownerSecret: Buffer.from(owner.secretKey).toString('hex'),
});

function administration({ test, cluster }: World) {
  const { engine, deps } = test;
  return {
    register: async (input: ProjectInput = {}) => {
      const owner = Keypair.generate();
      const project = await test.register({ ...input, owner: owner.publicKey.toBase58() });
      await cluster?.seen(project.registration.operator);
      return projectOf(project, owner);
    },
    createKey: (terms: KeyTerms) => engine.createKey(terms),
    revokeKey: async (id: string) => void (await engine.revokeKey(id)),
    rotateKey: async (id: string, graceMs: number) => {
      const old = (await engine.listKeys()).find((key) => key.id === id);
      const successor = await engine.createKey({
        scopes: old?.scopes ?? [],
        proofTypes: old?.proofTypes ?? null,
      });
      await engine.revokeKey(id, graceMs);
      return successor;
    },
    /** Has SOL and tokens of every project. */
    treasury: deps.treasury ?? '',
    /** 64-byte secret key in hex of a wallet for which the service signs. */
    secretOf: (wallet: string) => {
      const file = join(dataFiles(test.dataDir).keys, `${wallet}.json`);
      return Buffer.from(JSON.parse(readFileSync(file, 'utf8')) as number[]).toString('hex');
    },
  };
}

function chainOf({ test, chain, cluster }: World) {
  return {
    account: async (address: string) => {
      const [account] = await test.chain.getAccounts([address as Address]);
      return account == null ? null : { ...account, data: Uint8Array.from(account.data) };
    },
    transaction: async (signature: string) => {
      const [record] = await test.chain.lookUp([signature]);
      if (record == null || record.wire === null) return null;
      const { wire: bytes, error, logs, blockTimeMs } = record;
      // Clusters give block times in seconds.
      const unitMs = cluster === undefined ? 1 : 1_000;
      return { bytes, error, logs, blockTimeMs: blockTimeMs - (blockTimeMs % unitMs) };
    },
    blockhash: async () => (await chain.latestBlockhash()).blockhash,
    /** Transactions on the ledger, from any sender. */
    landedCount: () => landedCount(test.chain),
    /** Lands a transaction without the service. @returns its error, or `null` on success. */
    land: async (transaction: Uint8Array) => {
      const [refusal] = await chain.submit([transaction]);
      await cluster?.settle();
      const [record] = await test.chain.lookUp([base58Encode(transaction.subarray(1, 65))]);
      return refusal ?? record?.error ?? null;
    },
    expireBlockhashes: () => (cluster === undefined ? passBlocks(test, BLOCKHASH_BLOCKS) : cluster.expire()),
  };
}

const BLOCKHASH_BLOCKS = 150;

/** @returns a function that releases the write lock. */
function lockSqlite(path: string): () => void {
  const database = new Database(path, { timeout: 5_000 });
  database.exec('begin immediate');
  return () => {
    database.exec('rollback');
    database.close();
  };
}

function breakStore(path: string, rooms: Rooms, fault: StoreFault): () => void {
  const run = (statement: string, options = {}) => rawSqlite(path, statement, options);
  if ('locked' in fault) return lockSqlite(path);
  if ('damagedBatch' in fault)
    run(`update batches set init_result = '{' where id = '${fault.damagedBatch}'`, { checks: false });
  if (!('roomForBurns' in fault)) return () => undefined;
  const { tokenId, roomForBurns } = fault;
  rooms.set(tokenId, roomForBurns);
  return () => void rooms.delete(tokenId);
}

/** A store that has room for some burns of a project only. More are inserted twice, which the database refuses. */
const storeWith = (store: Store, rooms: Rooms): Store =>
  replacing(store, {
    transaction: (work, of) =>
      store.transaction(async (tx) => {
        const insertMany: typeof tx.burns.insertMany = async (request, intents) => {
          const inserted = await tx.burns.insertMany(request, intents);
          const left = (rooms.get(request.tokenId) ?? Number.POSITIVE_INFINITY) - intents.length;
          if (left < 0) await tx.burns.insertMany(request, intents);
          tx.whenCommitted(() => void (rooms.has(request.tokenId) && rooms.set(request.tokenId, left)));
          return inserted;
        };
        return work(replacing(tx, { burns: replacing(tx.burns, { insertMany }) }));
      }, of),
  });

type Rooms = Map<string, number>;

async function beside(world: World, other: OtherServer, use: (url: string) => Promise<void>): Promise<void> {
  const { test } = world;
  const { dies, storePatienceMs } = other;
  // The next process comes after the leases of the dead one have expired.
  const death = dies === undefined ? undefined : new Death(() => world.clock.pass(LEASE_MS + 1));
  const own =
    storePatienceMs === undefined
      ? undefined
      : await openSqliteStore({ path: dataFiles(test.dataDir).store, busyTimeoutMs: storePatienceMs });
  const parts: Partial<EngineParts> = {
    chain: sendingChain(failingChain(world.chain, other.chain), other, death),
    store: watchedStore(own ?? test.deps.store, death, other.afterCommit),
  };
  const server = await serve(world, engineOver(world, parts), other);
  try {
    await use(server.url);
  } finally {
    await server.closeGracefully(CLOSE_MS);
    await own?.close();
  }
}

/** After its moment nothing that the service does has an effect. */
class Death {
  hasCome = false;
  readonly #onDeath: () => void;

  constructor(onDeath: () => void) {
    this.#onDeath = onDeath;
  }

  come(): never {
    this.hasCome = true;
    this.#onDeath();
    throw new Error('killed');
  }
}

function failingChain(chain: Chain, kind: OtherServer['chain']): Chain {
  if (kind === undefined) return chain;
  const error = { kind: 'transaction', error: 'BlockhashNotFound' } as const;
  if (kind === 'forgetful')
    return replacing(chain, { submit: async (sent) => sent.map((_, index) => ({ index, error, logs: [] })) });
  const fail = (): Promise<never> =>
    Promise.reject(
      kind === 'broken'
        ? new Error('secret detail at 10.0.0.7')
        : new FlywheelError('ERR_UNAVAILABLE', 'The cluster does not answer.', { retryAfterSeconds: 3 }),
    );
  return replacing(chain, {
    getAccounts: fail,
    latestBlockhash: fail,
    lookUp: fail,
    trace: fail,
    expiredHeight: fail,
    isBlockhashValid: fail,
    submit: fail,
    submitBundles: fail,
  });
}

function sendingChain(chain: Chain, { dies, beforeSending }: OtherServer, death: Death | undefined): Chain {
  let lists = 0;
  const around = async <Receipt>(
    sent: readonly Uint8Array[],
    send: () => Promise<Receipt>,
  ): Promise<Receipt> => {
    lists += 1;
    await beforeSending?.(lists, sent);
    if (dies === 'before sending') death?.come();
    const receipt = await send();
    if (dies === 'after landing') death?.come();
    return receipt;
  };
  return replacing(chain, {
    submit: (...sent) => around(sent[0], () => chain.submit(...sent)),
    submitBundles: (...sent) => around(sent[0].flat(), () => chain.submitBundles(...sent)),
    latestBlockhash: async () => {
      if (dies === 'before blockhash') death?.come();
      return chain.latestBlockhash();
    },
  });
}

const watchedStore = (
  store: EngineParts['store'],
  death: Death | undefined,
  afterCommit: OtherServer['afterCommit'],
): EngineParts['store'] =>
  replacing(store, {
    transaction: async (...work) => {
      if (death?.hasCome === true) throw new Error('killed');
      const result = await store.transaction(...work);
      await afterCommit?.();
      return result;
    },
  });
