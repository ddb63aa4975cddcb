/**
 * An older copy of the store is restored while the chain has advanced: nothing is written until an operator has accepted the gap.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeClock } from '../../src/chain/account.js';
import type { Chain } from '../../src/chain/chain.js';
import { CLOCK_SYSVAR, SYSTEM_PROGRAM } from '../../src/chain/programs.js';
import { transfer } from '../../src/chain/small-programs.js';
import type { Engine } from '../../src/engine/engine.js';
import { GapWatch, requireExpired } from '../../src/engine/gap-watch.js';
import { FlywheelError } from '../../src/errors/flywheel-error.js';
import { copyStore } from '../../src/store/copy.js';
import type { ProjectRecord } from '../../src/store/records.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import type { Store } from '../../src/store/store.js';
import type { Address } from '../../src/values/address.js';
import type { Uuid } from '../../src/values/ids.js';
import { isoTime, utcDay } from '../../src/values/time.js';
import { signedWith } from '../support/chain.js';
import { chainOver, replacing } from '../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  signApproval,
  type TestEngine,
  tokensOf,
} from '../support/engine.js';
import { itLong } from '../support/long.js';
import { MAINNET } from '../support/rpc-stub.js';
import { failureOf } from '../support/service.js';
import { emptyDirectory } from '../support/spawn.js';
import { openCluster } from '../test-cluster/open-cluster.js';

/** Every blockhash has expired by then. */
const LIFETIME_SLOTS = 400;
/** A chain believes the finalized height that it was told for 5 seconds. */
const HEIGHT_KEPT_MS = 5_000;

let test: TestEngine;
let cluster: Awaited<ReturnType<typeof openCluster>>;
let chain: Chain;
let asked: string[];
let stores: Store[];

beforeEach(async () => {
  test = await openTestEngine({ dailyBurn: '1000' });
  cluster = await openCluster(test, { more: async () => ({ maxPriorityFeeLamports: 0n }) });
  asked = [];
  chain = chainOver(cluster.chain, {
    getAccounts: (addresses, commitment) => {
      if (commitment === 'finalized') cluster.pass(HEIGHT_KEPT_MS);
      return cluster.chain.getAccounts(addresses, commitment);
    },
    history: (account, past) => {
      asked.push(account);
      return cluster.chain.history(account, past);
    },
  });
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  await cluster.close();
  await test.destroy();
});

async function copyOf(store: Store): Promise<Store> {
  const copy = await openSqliteStore({ path: `${emptyDirectory()}/store.db` });
  stores.push(copy);
  await copyStore(store, copy);
  return copy;
}

/** An engine on a copy that is writable again: everything sent before has expired. */
async function engineOnCopy(copy: Store): Promise<Engine> {
  await failureOf(requireExpired({ chain, store: copy }));
  cluster.node.advance(LIFETIME_SLOTS);
  cluster.pass(HEIGHT_KEPT_MS);
  await requireExpired({ chain, store: copy });
  return engineOn(copy);
}

const engineOn = (store: Store): Engine => engineBeside(test, { chain, store });
const call = (idempotencyKey: string = randomUUID()) => test.project.call({ idempotencyKey });
const burnOn = async (engine: Engine, amount: number, key?: string) =>
  (await engine.burn(aBurnRequest(amount), call(key))).value.txHash;
const tokenId = () => test.project.registration.tokenId;
const expectBehind = async (asked: Promise<unknown>) =>
  expect(await failureOf(asked)).toMatchObject({ code: 'ERR_STORE_BEHIND' });
/** An engine that goes on after the copy of its store, which knows one burn. */
const outdated = async () => {
  const before = engineOn(test.store);
  const known = await burnOn(before, 1);
  return { before, known, copy: await copyOf(test.store) };
};
const findOn = async (store: Store) => (await engineOn(store).gaps.find())?.gap;

/** A node that was started from a snapshot: no list, status or transaction from before this slot. */
const chainSince = (slot: number): Chain =>
  chainOver(cluster.chain, {
    history: async (account, past) =>
      (await cluster.chain.history(account, past)).filter((listed) => listed.slot >= slot),
    lookUp: async (signatures) =>
      (await cluster.chain.lookUp(signatures)).map((record) =>
        record !== null && record.slot >= slot ? record : null,
      ),
  });
const burnTokenAccountOf = (store: Store): Promise<Address> =>
  store.read(async (tx) => ((await tx.projects.list())[0] as ProjectRecord).burnTokenAccount);
const newestSlot = async (): Promise<number> => {
  const { multisig } = test.project.registration;
  const burnTokenAccount = await burnTokenAccountOf(test.store);
  const lists = await Promise.all(
    [burnTokenAccount, multisig as Address].map((account) => cluster.chain.history(account, { limit: 1 })),
  );
  return Math.max(...lists.flat().map(({ slot }) => slot));
};

describe('a store that is older than the chain', () => {
  it('writes nothing more for the project until the gap is accepted; reads go on', async () => {
    const { before, copy } = await outdated();
    const lost = [await burnOn(before, 2, 'the-lost-one'), await burnOn(before, 3)];

    const engine = await engineOnCopy(copy);
    const failure = await failureOf(engine.burn(aBurnRequest(9), call()));
    expect(failure).toMatchObject({
      code: 'ERR_STORE_BEHIND',
      status: 503,
      options: { retryAfterSeconds: 60 },
    });
    expect(failure.message).toContain('The chain has 2 burns of this project');
    for (const refused of [
      () => engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, call()),
      () => engine.burnBatch([aBurnRequest(1)], call()),
      () => engine.executeBatch({ batchId: randomUUID() as Uuid, signedTx: 'AA==' }, call()),
      () => engine.cancelBatch({ batchId: randomUUID() }, call()),
    ])
      await expectBehind(refused());
    expect((await engine.listBurns({}, call())).value.items).toHaveLength(1);

    const gap = await findOn(copy);
    expect(gap).toMatchObject({ burns: 2, transactions: 2, burned: 5_000_000n, airdropped: 0n });
    expect(gap?.lost.map(({ signature }) => signature)).toEqual(lost);
    await expect(engine.gaps.accept(1)).rejects.toMatchObject({ code: 'ERR_INPUT_INVALID' });
    await expectBehind(engine.burn(aBurnRequest(9), call()));
    await engine.gaps.accept(2);

    // Earlier burns count: 1 before, 5 lost, 9 now.
    await burnOn(engine, 9);
    const day = utcDay(Date.now());
    expect(await copy.read((tx) => tx.usage.used({ tokenId: tokenId(), day, kind: 'burn' }))).toBe(
      15_000_000n,
    );
    expect(await failureOf(engine.burn(aBurnRequest(986), call()))).toMatchObject({
      code: 'ERR_DAILY_LIMIT_EXCEEDED',
    });
    // A lost request is unknown to the store, so its repeat is a new burn; the operator has seen the lost one.
    expect(lost).not.toContain(await burnOn(engine, 2, 'the-lost-one'));
    expect(await findOn(copy)).toBeUndefined();
    expect(await copy.read((tx) => tx.audit.list({ limit: 1 }))).toMatchObject([
      { action: 'gap.accept', actor: test.deps.actor, detail: { burns: 2, burned: '5000000' } },
    ]);
  });

  it('signs no burn again that may be among what is lost, however often it is asked', async () => {
    const deaf = chainOver(chain, {
      submit: () => Promise.reject(new FlywheelError('ERR_UNAVAILABLE', 'No node answers.')),
    });
    const unsent = engineBeside(test, { chain: deaf, store: test.store });
    await failureOf(unsent.burn(aBurnRequest(2), call('again')));
    await failureOf(unsent.burn(aBurnRequest(3), call('other')));
    const copy = await copyOf(test.store);
    cluster.node.advance(LIFETIME_SLOTS);
    const again = await burnOn(engineOn(test.store), 2, 'again');

    const engine = await engineOnCopy(copy);
    await expectBehind(burnOn(engine, 2, 'again'));
    expect((await findOn(copy))?.lost.map(({ signature }) => signature)).toEqual([again]);
    await engine.gaps.accept(1);
    for (const _time of [1, 2])
      expect(await failureOf(burnOn(engine, 2, 'again'))).toMatchObject({
        code: 'ERR_STORE_BEHIND',
        message: expect.stringContaining(again),
      });
    await burnOn(engine, 3, 'other');
    const used = { tokenId: tokenId(), day: utcDay(Date.now()), kind: 'burn' } as const;
    expect(await copy.read((tx) => tx.usage.used(used))).toBe(5_000_000n);
  });

  it('is found of what its keys signed before the registration, in another store', async () => {
    const signature = await burnOn(engineOn(test.store), 2);
    const fresh = await openSqliteStore({ path: `${emptyDirectory()}/store.db` });
    stores.push(fresh);
    const records = await test.store.read(async (tx) => ({
      projects: await tx.projects.list(),
      keys: await tx.apiKeys.ofToken(tokenId()),
    }));
    const dateCreated = isoTime(Date.now() + 60_000);
    await fresh.transaction(async (tx) => {
      for (const project of records.projects) await tx.projects.insert({ ...project, dateCreated });
      for (const key of records.keys) await tx.apiKeys.insert(key);
    });
    const engine = engineOn(fresh);
    await expectBehind(engine.burn(aBurnRequest(2), call()));
    expect((await findOn(fresh))?.lost).toMatchObject([{ signature, burned: 2_000_000n }]);
    await engine.gaps.accept(1);
    expect(await failureOf(engine.burn(aBurnRequest(999), call()))).toMatchObject({
      code: 'ERR_DAILY_LIMIT_EXCEEDED',
    });
  });

  it('is found behind what strangers send, whatever one node of a quorum invents', async () => {
    const { before, known, copy } = await outdated();
    const lost = [await burnOn(before, 2), await burnOn(before, 3)];
    const { multisig } = test.project.registration;
    const burnTokenAccount = await burnTokenAccountOf(test.store);
    const sender = test.deps.keyring.get(test.deps.treasury as Address);
    const { blockhash } = await test.chain.latestBlockhash();
    const noise = Array.from({ length: 24 }, (_, at) => {
      const instructions = [burnTokenAccount, multisig].map((to) =>
        transfer({ from: sender.address, to: to as Address, lamports: BigInt(at + 1) }),
      );
      return signedWith(blockhash, [sender], instructions).bytes;
    });
    await test.chain.submit(noise);
    // Where the list of the honest node does not reach so far, nobody contradicts.
    chain = chainOver(chain, {
      history: async (account, past) => {
        const honest = await cluster.chain.history(account, past);
        const [newest] = honest;
        if (newest === undefined || honest.some(({ signature }) => signature === known)) return honest;
        const invented = { ...newest, isAgreed: false };
        return [
          { ...invented, signature: known },
          ...honest,
          { ...invented, signature: 'invented', slot: 1, failed: true },
        ];
      },
    });
    const engine = await engineOnCopy(copy);
    await expectBehind(engine.burn(aBurnRequest(2), call()));
    expect((await findOn(copy))?.lost.map(({ signature }) => signature)).toEqual(lost);
  });

  it('writes nothing where the only node has no history from before the missing transactions', async () => {
    const { before, copy } = await outdated();
    await burnOn(before, 2);
    cluster.node.advance(LIFETIME_SLOTS);
    await engineOnCopy(copy);
    chain = chainSince((await newestSlot()) + 1);
    const engine = engineOn(copy);
    const refusal = { code: 'ERR_UNAVAILABLE', options: { hint: expect.stringContaining('--rpc-url') } };
    for (const refused of [() => engine.burn(aBurnRequest(2), call()), () => engine.gaps.find()])
      expect(await failureOf(refused())).toMatchObject(refusal);
    chain = cluster.chain;
    await expectBehind(engineOn(copy).burn(aBurnRequest(2), call()));
  });

  it('is found behind burns that landed after the missing ones', async () => {
    const { before, copy } = await outdated();
    const engine = await engineOnCopy(copy);
    await burnOn(engine, 1);
    const lost = await burnOn(before, 2);
    await engine.burnBatch(
      Array.from({ length: 20 }, () => aBurnRequest(1)),
      call(),
    );
    expect((await findOn(copy))?.lost).toMatchObject([{ signature: lost }]);
  });

  itLong(
    'is found by a server that goes on meanwhile, and leaves alone what an older copy has pending',
    async () => {
      const { before, copy } = await outdated();
      await burnOn(before, 2);
      const problems: unknown[] = [];
      const engine = await engineOnCopy(copy);
      await engine.reconcile({ onProblem: (_what, error) => problems.push(error) });
      expect(problems).toMatchObject([{ code: 'ERR_STORE_BEHIND' }]);
      await expectBehind(engine.burn(aBurnRequest(9), call()));
      // A second engine reads the acceptance from the store.
      const other = engineOn(copy);
      await other.reconcile();
      asked.length = 0;
      await expectBehind(other.burn(aBurnRequest(9), call()));
      expect(asked).toEqual([]);
    },
  );

  itLong('is not ready while no project may be written, and is with one that may', async () => {
    const behind = async () => {
      const copy = await copyOf(test.store);
      const gap = { tokenId: tokenId(), dateFound: '2026-01-01T00:00:00.000Z' };
      const lost = { signature: 'lost', burned: 1n, airdropped: 0n, memo: null, dateLanded: null };
      await copy.transaction((tx) => tx.gaps.add(gap, [lost]), { tokenId: tokenId() });
      return copy;
    };
    const alone = await behind();
    const engine = engineOn(alone);
    await engineOn(test.store).ready();
    await expect(engine.ready()).rejects.toMatchObject({ code: 'ERR_STORE_BEHIND', status: 503 });
    await engine.gaps.accept(1);
    await engine.ready();
    await test.register();
    await engineOn(await behind()).ready();
  });

  it('is read whole for who asks for all, also while a limited look runs', async () => {
    const { before, copy } = await outdated();
    await burnOn(before, 2);
    await burnOn(before, 3);
    await engineOnCopy(copy);
    const watch = new GapWatch({ store: copy, chain });
    const looks = [watch.lookNow(tokenId(), 1), watch.lookNow(tokenId())];
    expect(await Promise.all(looks)).toEqual([1, 0]);
  });

  it('executes no batch once more that a lost store has executed', async () => {
    const before = engineOn(test.store);
    const airdrop = { action: 'AIRDROP' as const, amount: 2, toAddress: test.project.owner.address };
    const pipelines = [aPipeline([burnAction(4), airdrop])];
    const { value: started } = await before.initBatch({ pipelines }, call());
    const copy = await copyOf(test.store);
    const execution = { batchId: started.batch.id, signedTx: signApproval(test.project.owner, started) };
    const { value: executed } = await before.executeBatch(execution, call());
    expect(executed.result.totalSuccessful).toBe(1);
    const vault = () => tokensOf(test.chain, test.project, test.project.registration.vaultAddress);
    const left = await vault();

    const engine = await engineOnCopy(copy);
    await expectBehind(engine.executeBatch(execution, call()));
    const gap = await findOn(copy);
    expect(gap).toMatchObject({ burns: 1, transactions: 1, burned: 4_000_000n, airdropped: 2_000_000n });
    await engine.gaps.accept(1);
    await engine.executeBatch(execution, call()).catch((error: unknown) => error);
    await engine.reconcile();
    expect(await vault()).toBe(left);
  });
});

describe('a store that has all', () => {
  it('is known from one account, where the node no longer has the other, and not from none', async () => {
    const engine = engineOn(test.store);
    await burnOn(engine, 1);
    const first = await newestSlot();
    cluster.node.advance(LIFETIME_SLOTS);
    await burnOn(engine, 2);
    chain = chainSince(first);
    await burnOn(engineOn(test.store), 3);
    // What one node lists of an account says nothing of what another node lists of the other.
    const listing = chain;
    chain = chainOver(listing, {
      history: async (...asked) => Object.assign(await listing.history(...asked), { nodes: asked[0] }),
    });
    expect(await failureOf(engineOn(test.store).burn(aBurnRequest(1), call()))).toMatchObject({
      code: 'ERR_UNAVAILABLE',
    });
    chain = chainSince((await newestSlot()) + 1);
    expect(await failureOf(engineOn(test.store).burn(aBurnRequest(1), call()))).toMatchObject({
      code: 'ERR_UNAVAILABLE',
    });
  });

  it('is not compared with nodes of a public cluster that are behind, whatever they list', async () => {
    const { before, copy } = await outdated();
    const seen = await newestSlot();
    await burnOn(before, 5, 'the-lost-one');
    let secondsBehind = 61;
    const floors: (number | undefined)[] = [];
    chain = chainOver(cluster.chain, {
      getAccounts: async (addresses) => {
        if (addresses[0] !== CLOCK_SYSVAR) return cluster.chain.getAccounts(addresses);
        const unixTimestamp = BigInt(Math.floor(copy.latestMs() / 1_000) - secondsBehind);
        const data = encodeClock({ slot: BigInt(seen), epoch: 1n, unixTimestamp });
        return [{ lamports: 1n, owner: SYSTEM_PROGRAM, executable: false, data }];
      },
      history: async (account, past) => {
        floors.push(past.sinceSlot);
        const listed = await cluster.chain.history(account, past);
        return listed.filter(({ slot }) => secondsBehind < 60 || slot <= seen);
      },
    });
    const store = replacing(copy, { progress: async () => ({ genesis: MAINNET, ledgerMark: '' }) });
    // Its height does not say when everything has expired, either.
    expect((await failureOf(requireExpired({ chain, store }))).message).toContain('61 s behind the clock');
    secondsBehind = 59;
    const engine = await engineOnCopy(store);
    secondsBehind = 61;
    const failure = await failureOf(engine.burn(aBurnRequest(5), call('the-lost-one')));
    expect(failure).toMatchObject({
      code: 'ERR_UNAVAILABLE',
      status: 503,
      options: { retryAfterSeconds: 10 },
    });
    expect(failure.message).toContain('61 s behind the clock');
    secondsBehind = 59;
    await expectBehind(engine.burn(aBurnRequest(5), call('the-lost-one')));
    expect(Math.min(...floors.map((floor = 0) => floor))).toBeGreaterThanOrEqual(seen);
  });

  it.each([
    ['high', 20_000_000n, /about 80\d{5} s/],
    ['low', -8_000n, /about 1\d\d s/],
  ])(
    'waits as long as a blockhash lives, and a margin, after one block height that was far too %s',
    async (_how, lie, told) => {
      const copy = await copyOf(test.store);
      let liesLeft = 1;
      chain = chainOver(cluster.chain, {
        expiredHeight: async () => {
          const height = await cluster.chain.expiredHeight();
          liesLeft -= 1;
          return liesLeft < 0 ? height : height + lie;
        },
      });
      expect((await failureOf(requireExpired({ chain, store: copy }))).message).toMatch(told);
      expect((await failureOf(requireExpired({ chain, store: copy }))).message).toMatch(/about 1\d\d s/);
      await engineOnCopy(copy);
    },
  );

  it('asks once, and is not disturbed by what others send to its accounts', async () => {
    const engine = engineOn(test.store);
    await burnOn(engine, 1);
    const accounts = [...asked];
    expect(accounts).toContain(test.project.registration.multisig);
    await burnOn(engine, 2);
    expect(asked).toEqual(accounts);

    const { burnWallet, multisig } = test.project.registration;
    const sender = test.deps.keyring.get(test.deps.treasury as Address);
    for (const to of [burnWallet, multisig] as Address[]) {
      const { blockhash } = await test.chain.latestBlockhash();
      const instructions = [transfer({ from: sender.address, to, lamports: 1n })];
      await test.chain.submit([signedWith(blockhash, [sender], instructions).bytes]);
    }
    await engine.reconcile();
    await burnOn(engineOn(test.store), 3);
    expect(await findOn(test.store)).toBeUndefined();
  });

  it('compares every project with the chain in its turn, not only the first ones', async () => {
    const registered = [await test.register(), await test.register(), await test.register()];
    const watch = new GapWatch({ store: test.store, chain });
    for (let round = 0; round < 2; round += 1) await watch.again();
    expect(asked).toEqual(
      expect.arrayContaining(registered.map(({ registration }) => registration.multisig)),
    );
  });
});
