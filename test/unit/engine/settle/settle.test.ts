import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Chain, RecentBlockhash, SubmitReceipt } from '../../../../src/chain/chain.js';
import { openLocalChain } from '../../../../src/chain/local/local-chain.js';
import { transfer } from '../../../../src/chain/small-programs.js';
import type { Unit } from '../../../../src/engine/settle/look-up.js';
import { type Settlement, settle } from '../../../../src/engine/settle/settle.js';
import {
  chainOptions,
  HandClock,
  namedSigner,
  removeDirectories,
  signedWith,
  temporaryDirectory,
  treasury,
} from '../../../support/chain.js';
import { chainOver, FREE_LEASE } from '../../../support/doubles.js';

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

const unit = (recent: RecentBlockhash, lamports: bigint): Unit => ({
  transactions: [pay(recent, lamports)],
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
  lease: FREE_LEASE,
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

/** A chain that takes what it is sent and lets it land, or forgets it, only some look-ups later. */
function slow(lands: boolean, afterLookUps: number): Chain {
  const waiting: Uint8Array[] = [];
  let lookUps = 0;
  return chainOver(chain, {
    pollMs: 1,
    submit: async (transactions) => {
      waiting.push(...transactions);
      return transactions.map(() => null);
    },
    lookUp: async (signatures) => {
      lookUps += 1;
      if (lookUps === afterLookUps) {
        if (lands) await chain.submit(waiting);
        else await expire();
      }
      return chain.lookUp(signatures);
    },
  });
}

describe('a chain that takes its time', () => {
  it('is asked until each is there', async () => {
    const units = [unit(await chain.latestBlockhash(), SOL), unit(await chain.latestBlockhash(), 2n * SOL)];
    const settled = await settle(slow(true, 4), plan(units));
    expect(settled.map(({ end }) => end.kind)).toEqual(['landed', 'landed']);
    expect(await received()).toBe(3n * SOL);
  });

  it('is asked until one has proven never to land, and then sent it once more', async () => {
    let signed = 1;
    const forgetful = slow(false, 3);
    const lateButTrue = chainOver(forgetful, {
      pollMs: 1,
      submit: (transactions) => (signed === 1 ? forgetful.submit(transactions) : chain.submit(transactions)),
    });
    const renew = async (): Promise<readonly Unit[]> => {
      signed += 1;
      return [unit(await chain.latestBlockhash(), SOL)];
    };
    const [settled] = await settle(lateButTrue, plan([unit(await chain.latestBlockhash(), SOL)], { renew }));
    expect(settled?.end.kind).toBe('landed');
    expect(signed).toBe(2);
    expect(await received()).toBe(SOL);
  });
});
