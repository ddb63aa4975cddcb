import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChainSender } from '../../../src/chain/chain.js';
import { type LocalChain, openLocalChain } from '../../../src/chain/local/local-chain.js';
import { createSender } from '../../../src/chain/send.js';
import { transfer } from '../../../src/chain/system.js';
import {
  BLOCKHASH_LIFETIME_MS,
  chainOptions,
  HandClock,
  namedSigner,
  removeDirectories,
  signedWith,
  temporaryDirectory,
  treasury,
} from '../../support/chain.js';

afterAll(removeDirectories);

describe('a transaction that is sent to the local ledger', () => {
  const clock = new HandClock();
  const [alice, poor] = [namedSigner('alice'), namedSigner('poor')];
  let chain: LocalChain;
  let sender: ChainSender;
  /** What happens while the sender sleeps. */
  let meanwhile: () => Promise<void>;

  beforeEach(async () => {
    chain = await openLocalChain(chainOptions(temporaryDirectory(), clock));
    meanwhile = async () => undefined;
    const sleep = async (ms: number): Promise<void> => {
      clock.timeMs += ms;
      await meanwhile();
    };
    sender = createSender(chain, { clock, sleep });
  });
  afterEach(() => chain.close());

  const pay = async (lamports: bigint, from = treasury) => {
    const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
    const instructions = [transfer({ from: from.address, to: alice.address, lamports })];
    return { ...signedWith(blockhash, [from], instructions), lastValidBlockHeight };
  };
  const inAMinute = () => clock.nowMs() + 60_000;

  it('has landed at once, also when it is sent a second time', async () => {
    const { bytes, signature, lastValidBlockHeight } = await pay(5_000_000_000n);
    const terms = { lastValidBlockHeight, deadlineMs: inAMinute() };
    for (const outcome of [
      await sender.submitAndConfirm(bytes, terms),
      await sender.submitAndConfirm(bytes, terms),
    ])
      expect(outcome).toMatchObject({ kind: 'landed', record: { signature } });
    expect((await chain.getAccounts([alice.address]))[0]?.lamports).toBe(5_000_000_000n);
  });

  it('has failed where it ran and failed', async () => {
    const { bytes, lastValidBlockHeight } = await pay(2n ** 63n);
    expect(
      await sender.submitAndConfirm(bytes, { lastValidBlockHeight, deadlineMs: inAMinute() }),
    ).toMatchObject({
      kind: 'failed',
      record: { error: { kind: 'instruction', index: 0 } },
    });
  });

  it('is of unknown fate while it may land yet, and has expired when its blockhash has', async () => {
    const { bytes, lastValidBlockHeight } = await pay(1n, poor);
    const soon = { lastValidBlockHeight, deadlineMs: clock.nowMs() + 5_000 };
    expect(await sender.submitAndConfirm(bytes, soon)).toMatchObject({
      kind: 'unknown',
      rejection: { error: { kind: 'transaction' } },
    });
    meanwhile = async () => {
      // Others land transactions, so that blocks and time go by.
      for (let count = 1n; count <= 60n; count += 1n) {
        const other = await pay(1_000_000_000n + BigInt(clock.nowMs() % 1_000_000) + count);
        expect(await chain.submit([other.bytes])).toEqual([null]);
      }
      clock.timeMs += BLOCKHASH_LIFETIME_MS / 2;
    };
    const late = { lastValidBlockHeight, deadlineMs: clock.nowMs() + 600_000 };
    const outcome = await sender.submitAndConfirm(bytes, late);
    expect(outcome).toMatchObject({ kind: 'expired', rejection: { error: { kind: 'transaction' } } });
  });
});
