import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Chain, RecentBlockhash, SubmitReceipt } from '../../../../src/chain/chain.js';
import { openLocalChain } from '../../../../src/chain/local/local-chain.js';
import { transfer } from '../../../../src/chain/system.js';
import type { Unit } from '../../../../src/engine/settle/fate.js';
import { type Settlement, settle, settleOne } from '../../../../src/engine/settle/settle.js';
import {
  chainOptions,
  HandClock,
  namedSigner,
  removeDirectories,
  signedWith,
  temporaryDirectory,
  treasury,
} from '../../../support/chain.js';
import { chainOver } from '../../../support/doubles.js';

const SOL = 1_000_000_000n;
const alice = namedSigner('alice');
const bob = namedSigner('bob');

let clock: HandClock;
let chain: Chain;

beforeEach(async () => {
  clock = new HandClock(Date.UTC(2026, 0, 31, 12));
  chain = await openLocalChain(chainOptions(temporaryDirectory(), clock));
});
afterEach(() => chain.close());
afterAll(removeDirectories);

const pay = (recent: RecentBlockhash, lamports: bigint, from = treasury): Unit['transactions'][number] =>
  signedWith(recent.blockhash, [from], [transfer({ from: from.address, to: alice.address, lamports })]);

const unit = (recent: RecentBlockhash, ...lamports: readonly bigint[]): Unit => ({
  transactions: lamports.map((amount) => pay(recent, amount)),
  lastValidBlockHeight: recent.lastValidBlockHeight,
});

/** A unit of one transaction that cannot even start: its payer has nothing. */
const unpayable = (recent: RecentBlockhash): Unit => ({
  transactions: [pay(recent, SOL, bob)],
  lastValidBlockHeight: recent.lastValidBlockHeight,
});

const never = (): Promise<never> => Promise.reject(new TypeError('Nothing has expired.'));

const plan = (units: readonly Unit[], parts: Partial<Settlement<Unit>> = {}): Settlement<Unit> => ({
  units,
  areNew: true,
  as: 'alone',
  renew: never,
  ...parts,
});

const received = async (): Promise<bigint> => (await chain.getAccounts([alice.address]))[0]?.lamports ?? 0n;

/** Lets the blockhashes that are known by now run out, in blocks and in time. */
async function expire(): Promise<void> {
  for (let block = 0; block < 151; block += 1) {
    clock.timeMs += 500;
    const recent = await chain.latestBlockhash();
    await chain.submit([
      signedWith(
        recent.blockhash,
        [treasury],
        [transfer({ from: treasury.address, to: bob.address, lamports: SOL + BigInt(block) })],
      ).bytes,
    ]);
  }
}

describe('units that stand alone', () => {
  it('end each for itself, in their order', async () => {
    const recent = await chain.latestBlockhash();
    const units = [unit(recent, SOL), unpayable(recent), unit(recent, 2n * SOL)];
    const settled = await settle(chain, plan(units));
    expect(settled.map((one) => [units.indexOf(one.unit), one.end.kind])).toEqual([
      [0, 'landed'],
      [1, 'failed'],
      [2, 'landed'],
    ]);
    expect(await received()).toBe(3n * SOL);
  });

  it('that have landed before are found, and change nothing', async () => {
    const first = unit(await chain.latestBlockhash(), SOL);
    await settle(chain, plan([first]));
    await expire();
    const [again] = await settle(chain, plan([first], { areNew: false }));
    expect(again?.end.kind).toBe('landed');
    expect(await received()).toBe(SOL);
  });

  it('are signed once more only when they have proven never to land', async () => {
    const old = unit(await chain.latestBlockhash(), SOL);
    await expire();
    const signed: Unit[] = [];
    const renew = async (expired: readonly Unit[]): Promise<readonly Unit[]> => {
      expect(expired).toEqual([old]);
      signed.push(unit(await chain.latestBlockhash(), SOL));
      return signed;
    };
    const settled = await settle(chain, plan([old], { areNew: false, renew }));
    expect(settled).toEqual([{ unit: signed[0], end: expect.objectContaining({ kind: 'landed' }) }]);
    expect(signed).toHaveLength(1);
    expect(await received()).toBe(SOL);
  });

  it('that ran out between signing and sending are signed once more too', async () => {
    const old = unit(await chain.latestBlockhash(), SOL);
    await expire();
    const renew = async (): Promise<readonly Unit[]> => [unit(await chain.latestBlockhash(), SOL)];
    const [settled] = await settle(chain, plan([old], { renew }));
    expect(settled?.end.kind).toBe('landed');
    expect(await received()).toBe(SOL);
  });

  it('have no end while the chain refuses a blockhash that has not expired', async () => {
    let calls = 0;
    const strange = chainOver(chain, {
      submit: async (transactions): Promise<SubmitReceipt> => {
        calls += 1;
        return transactions.map((_, index) => ({
          index,
          error: { kind: 'transaction', error: 'BlockhashNotFound' },
          logs: [],
        }));
      },
    });
    const recent = await chain.latestBlockhash();
    await expect(settle(strange, plan([unit(recent, SOL)]))).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
    });
    expect(calls).toBe(20);
    expect(await received()).toBe(0n);
  });
});

describe('bundles', () => {
  it('stop after the first that fails, and say nothing of those after it', async () => {
    const recent = await chain.latestBlockhash();
    const broken: Unit = {
      transactions: [pay(recent, SOL), pay(recent, SOL, bob)],
      lastValidBlockHeight: recent.lastValidBlockHeight,
    };
    const units = [unit(recent, 2n * SOL, 3n * SOL), broken, unit(recent, 4n * SOL)];
    const settled = await settle(chain, plan(units, { as: 'bundles' }));
    expect(settled.map(({ end }) => end)).toEqual([
      expect.objectContaining({ kind: 'landed', records: [expect.anything(), expect.anything()] }),
      expect.objectContaining({ kind: 'failed', at: 1, records: [] }),
    ]);
    expect(await received()).toBe(5n * SOL);
  });

  it('go on with fresh signatures where a blockhash ran out in the middle', async () => {
    const old = await chain.latestBlockhash();
    await settle(chain, plan([unit(old, SOL)], { as: 'bundles' }));
    await expire();
    const units = [unit(old, 2n * SOL), unit(old, 3n * SOL, 4n * SOL)];
    const renew = async (expired: readonly Unit[]): Promise<readonly Unit[]> => {
      const recent = await chain.latestBlockhash();
      return expired.map((one) =>
        one === units[0] ? unit(recent, 2n * SOL) : unit(recent, 3n * SOL, 4n * SOL),
      );
    };
    const settled = await settle(chain, plan(units, { as: 'bundles', renew }));
    expect(settled.map(({ end }) => end.kind)).toEqual(['landed', 'landed']);
    expect(await received()).toBe(10n * SOL);
  });

  it('that were taken apart have failed, and the fees of what landed are known', async () => {
    const recent = await chain.latestBlockhash();
    const pair = unit(recent, SOL, 2n * SOL);
    const careless = chainOver(chain, {
      submitBundles: (bundles) => chain.submit(bundles.flatMap(([first]) => first ?? [])),
    });
    const [settled] = await settle(careless, plan([pair], { as: 'bundles' }));
    expect(settled?.end).toMatchObject({ kind: 'failed', at: 1, records: [{ feeLamports: 5_000n }] });
  });
});

/** A chain that takes what it is sent and lets it land, or forgets it, only some look-ups later. */
function slow(lands: boolean, afterLookUps: number): Chain {
  const waiting: Uint8Array[] = [];
  let lookUps = 0;
  return chainOver(chain, {
    pollMs: 1,
    submitBundles: async (bundles) => {
      waiting.push(...bundles.flat());
      return bundles.map(() => null);
    },
    lookUp: async (signatures) => {
      lookUps += 1;
      if (lookUps === afterLookUps) {
        if (lands) await chain.submit(waiting);
        else await expire();
      } else if (lookUps === afterLookUps - 1 && lands) {
        // One of a pair is seen before the other.
        await chain.submit(waiting.splice(0, 1));
      }
      return chain.lookUp(signatures);
    },
  });
}

describe('a chain that takes its time', () => {
  it('is asked until all of a unit is there', async () => {
    const sign = async (recent: RecentBlockhash): Promise<Unit['transactions']> => [
      pay(recent, SOL),
      pay(recent, 2n * SOL),
    ];
    const { end } = await settleOne(slow(true, 4), sign);
    expect(end).toMatchObject({ kind: 'landed', records: [{ error: null }, { error: null }] });
    expect(await received()).toBe(3n * SOL);
  });

  it('is asked until a unit has proven never to land, and then sent it once more', async () => {
    let signed = 0;
    const forgetful = slow(false, 3);
    const sign = async (recent: RecentBlockhash): Promise<Unit['transactions']> => {
      signed += 1;
      return [pay(recent, SOL)];
    };
    const lateButTrue = chainOver(forgetful, {
      pollMs: 1,
      submitBundles: (bundles) =>
        signed === 1 ? forgetful.submitBundles(bundles) : chain.submitBundles(bundles),
    });
    const { end } = await settleOne(lateButTrue, sign);
    expect(end.kind).toBe('landed');
    expect(signed).toBe(2);
    expect(await received()).toBe(SOL);
  });
});
