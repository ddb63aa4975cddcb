/** Changes honest bytes at random: an accepted mutant has the same meaning to independent decoders. */
import { VersionedTransaction } from '@solana/web3.js';
import { accounts as squads } from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import { Random } from '../fuzz/random.js';
import { isLong } from '../support/long.js';
import { judge, judgeVote } from './judge.js';
import { type Account, accountsOf, FILE, honestWorld, PLACES } from './world.js';

const SEED = Number(process.env['MUTATIONS_SEED'] ?? 1);
const VOTES = isLong ? 3_000 : 1_000;
const MESSAGES = isLong ? 300 : 150;

/** Changes, truncates, removes or inserts one to three bytes. */
function mutate(bytes: Uint8Array, random: Random): Uint8Array {
  let changed = [...bytes];
  for (let times = 1 + random.below(3); times > 0; times -= 1) {
    const at = random.below(changed.length);
    const ways = [
      () => (changed[at] = random.below(256)),
      () => (changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))),
      () => changed.splice(at, 1),
      () => changed.splice(at, 0, random.below(256)),
      () => (changed = changed.slice(0, at + 1)),
    ];
    (ways[random.below(8)] ?? ways[0])?.();
  }
  return Uint8Array.from(changed);
}

/** The content of a transaction as web3.js decodes it, without signatures and blockhash. */
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

describe('a changed approval', () => {
  const { wire, ...world } = honestWorld();
  const unsigned = Buffer.from(wire).fill(0, 1, 1 + 2 * 64);
  const honest = meaning(wire);
  /** @returns whether the mutant is accepted; then it must have the same meaning. */
  async function isAccepted(name: unknown, mutant: Uint8Array): Promise<boolean> {
    const found = await judgeVote({ ...world, wire: mutant });
    if ('refused' in found) return false;
    expect([name, meaning(mutant)]).toEqual([name, honest]);
    return true;
  }

  it('in any one bit is refused, but for its blockhash', async () => {
    const blockhash = VersionedTransaction.deserialize(unsigned).message.recentBlockhash;
    const accepted = new Set<number>();
    for (let at = 0; at < unsigned.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const mutant = Buffer.from(unsigned);
        mutant[at] = (mutant[at] ?? 0) ^ (1 << bit);
        if (!(await isAccepted([at, bit], mutant))) continue;
        accepted.add(at);
        expect(VersionedTransaction.deserialize(mutant).message.recentBlockhash).not.toBe(blockhash);
      }
    }
    expect(accepted.size).toBe(32);
  });

  it('in random bytes is refused, or means the same', async () => {
    const random = new Random(SEED);
    for (let run = 0; run < VOTES; run += 1)
      await isAccepted([SEED, run], mutate(run % 2 === 0 ? wire : unsigned, random));
  });
});

describe('a changed message of a batch', () => {
  it('in random bytes is refused, or means the same', async () => {
    const random = new Random(SEED);
    const decode = ({ data }: Account): string => {
      const [{ message, ephemeralSignerBumps }] = squads.VaultBatchTransaction.deserialize(Buffer.from(data));
      return JSON.stringify({ message, ephemeral: [...ephemeralSignerBumps] });
    };
    const worlds = (['token', 'token-2022'] as const).map(honestWorld);
    const chains = worlds.map(accountsOf);
    for (let run = 0; run < MESSAGES; run += 1) {
      const [world, chain] = [worlds[run % 2], chains[run % 2]];
      if (world === undefined || chain === undefined) throw new TypeError('There are two kinds.');
      const place = PLACES[3 + random.below(3)]?.[1] ?? '';
      const honest = chain.get(place) as Account;
      const mutant = { ...honest, data: mutate(honest.data, random) };
      const found = await judge(new Map([...chain, [place, mutant]]), world, FILE);
      if ('refused' in found)
        expect([SEED, run, found.refused.code]).toEqual([SEED, run, 'ERR_APPROVAL_REFUSED']);
      else expect([SEED, run, decode(mutant)]).toEqual([SEED, run, decode(honest)]);
    }
  });
});
