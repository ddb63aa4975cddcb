/** Honest bytes with random ones changed: whatever is still accepted means the same to other people's decoders. */
import { VersionedTransaction } from '@solana/web3.js';
import { accounts as squads } from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import { checkVote } from '../../src/approval/check-vote.js';
import type { AccountState } from '../../src/chain/account.js';
import { batchTransactionAddress } from '../../src/chain/squads/layouts/addresses.js';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { Address } from '../../src/values/address.js';
import { batchIndex, multisig, operator, owner } from '../support/batch-on-chain.js';
import { approve, honestWorld } from './world.js';

const SEED = Number(process.env['MUTATIONS_SEED'] ?? 1);
const VOTES = 20_000;
const MESSAGES = 400;

/** Numbers that a seed decides (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** One to three bytes changed, cut off, put in or taken out. */
function mutate(bytes: Uint8Array, next: (below: number) => number): Uint8Array {
  let changed = [...bytes];
  for (let times = 1 + next(3); times > 0; times -= 1) {
    const at = next(changed.length);
    const ways = [
      () => (changed[at] = next(256)),
      () => (changed[at] = (changed[at] ?? 0) ^ (1 << next(8))),
      () => changed.splice(at, 1),
      () => changed.splice(at, 0, next(256)),
      () => (changed = changed.slice(0, at + 1)),
    ];
    (ways[next(8)] ?? ways[0])?.();
  }
  return Uint8Array.from(changed);
}

/** What a transaction asks for, as web3.js reads it; signatures and blockhash left out. */
function meaning(wire: Uint8Array): unknown {
  const { message } = VersionedTransaction.deserialize(wire);
  const keys = message.staticAccountKeys.map((key) => key.toBase58());
  return {
    signers: keys.filter((_, index) => message.isAccountSigner(index)).sort(),
    writable: keys.filter((_, index) => message.isAccountWritable(index)).sort(),
    tables: message.addressTableLookups.length,
    instructions: message.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
      program: keys[programIdIndex],
      accounts: accountKeyIndexes.map((index) => keys[index]),
      data: Buffer.from(data).toString('hex'),
    })),
  };
}

describe('random bytes', () => {
  it('of an approval', () => {
    const next = random(SEED);
    const { wire } = honestWorld('token');
    const honest = meaning(wire);
    let accepted = 0;
    for (let run = 0; run < VOTES; run += 1) {
      const mutant = mutate(wire, next);
      try {
        const expected = { kind: 'approve', multisig, batchIndex, member: owner } as const;
        checkVote(mutant, { ...expected, feePayers: [operator, owner] });
      } catch (error) {
        if (isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) continue;
        throw error;
      }
      accepted += 1;
      expect([run, meaning(mutant)]).toEqual([run, honest]);
    }
    // Another blockhash is another approval of the same: some mutants are only that.
    expect(accepted).toBeGreaterThan(0);
  });

  it('of the stored messages', async () => {
    const next = random(SEED);
    const decode = (data: Uint8Array): string => {
      const [{ message, ephemeralSignerBumps }] = squads.VaultBatchTransaction.deserialize(Buffer.from(data));
      return JSON.stringify({ message, ephemeral: [...ephemeralSignerBumps] });
    };
    for (let run = 0; run < MESSAGES; run += 1) {
      const world = honestWorld(run % 2 === 0 ? 'token' : 'token-2022');
      const at: Address = batchTransactionAddress(multisig, batchIndex, 1 + next(3)).address;
      let honest = '';
      let mutant = new Uint8Array() as Uint8Array;
      world.accounts = (accounts) => {
        const account = accounts.get(at) as AccountState;
        honest = decode(account.data as Uint8Array);
        mutant = mutate(account.data as Uint8Array, next);
        accounts.set(at, { ...account, data: Buffer.from(mutant) });
      };
      const { exit, message } = await approve(world);
      if (exit === 9) continue;
      expect([run, exit, message]).toEqual([run, 0, '']);
      expect([run, decode(mutant)]).toEqual([run, honest]);
    }
  });
});
