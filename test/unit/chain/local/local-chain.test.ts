import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LocalChain, openLocalChain } from '../../../../src/chain/local/local-chain.js';
import { transfer } from '../../../../src/chain/system.js';
import {
  chainOptions,
  createToken,
  HandClock,
  namedSigner,
  removeDirectories,
  signed,
  temporaryDirectory,
  treasury,
} from '../../../support/chain.js';

const alice = namedSigner('alice');
const payment = (lamports: bigint) => [transfer({ from: treasury.address, to: alice.address, lamports })];

afterAll(removeDirectories);

describe('openLocalChain', () => {
  let directory: string;
  let chain: LocalChain;

  beforeEach(async () => {
    directory = temporaryDirectory();
    chain = await openLocalChain(chainOptions(directory));
  });
  afterEach(() => chain.close());

  it('goes on where the last process stopped', async () => {
    const token = await createToken(chain, 1_000n);
    const { bytes, signature } = await signed(chain, [treasury], [token.burn(1n)]);
    await chain.submit([bytes]);
    await chain.close();

    chain = await openLocalChain(chainOptions(directory));
    expect(await chain.submit([bytes])).toEqual([null]);
    expect(await token.supply(chain)).toBe(999n);
    expect((await chain.lookUp([signature]))[0]?.error).toBeNull();
    const next = await signed(chain, [treasury], [token.burn(9n)]);
    expect(await chain.submit([next.bytes])).toEqual([null]);
    expect(await token.supply(chain)).toBe(990n);
  });

  it('runs on what another process has changed meanwhile', async () => {
    const other = await openLocalChain(chainOptions(directory));
    const token = await createToken(chain, 1_000n);
    for (const [round, submitter] of [other, chain, other, chain].entries()) {
      const { bytes } = await signed(submitter, [treasury], [token.burn(BigInt(round + 1))]);
      expect(await submitter.submit([bytes])).toEqual([null]);
    }
    expect(await token.supply(other)).toBe(990n);
    expect(await token.supply(chain)).toBe(990n);
    await other.close();
  });

  it('does not believe what it ran when the commit failed', async () => {
    const token = await createToken(chain, 1_000n);
    const { bytes } = await signed(chain, [treasury], [token.burn(1n)]);
    const readOnly = await openLocalChain({ ...chainOptions(directory), readOnly: true });
    await expect(readOnly.submit([bytes])).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    expect(await token.supply(readOnly)).toBe(1_000n);
    await readOnly.close();
  });

  it('makes the same chain of the same transactions', async () => {
    const twin = await openLocalChain(chainOptions(temporaryDirectory(), new HandClock()));
    for (const each of [chain, twin]) {
      const { bytes } = await signed(each, [treasury], payment(1_000_000_000n));
      await each.submit([bytes]);
    }
    expect(await twin.latestBlockhash()).toEqual(await chain.latestBlockhash());
    await twin.close();
  });
});
