/** The bytes of a burn are never the same twice. */
import { describe, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/sign.js';
import { signBurns } from '../../../../src/engine/burns/chunk.js';
import type { SigningTerms } from '../../../../src/engine/signing-terms.js';
import type { ProjectRecord } from '../../../../src/store/records.js';
import { sha256 } from '../../../../src/values/digest.js';
import { namedAddress } from '../../../support/oracle.js';

const wallet = createKeypairSigner(generateKeypair());
const token = {
  id: 'one',
  mintAddress: namedAddress('mint'),
  burnWallet: wallet.address,
  burnTokenAccount: namedAddress('account'),
  tokenProgram: 'token',
  decimals: 6,
} as ProjectRecord;
const recent: SigningTerms = { blockhash: namedAddress('blockhash'), lastValidBlockHeight: 7n };
const burn = (sequence: number) => ({
  ...{ index: 0, sequence, amount: 5n, proofType: 'TYPE', proofHash: sha256('proof') },
  persistOnchain: false,
});
const priced = (microLamports: bigint, maxLamports = 50_000n): SigningTerms => ({
  ...recent,
  priority: { microLamports, maxLamports },
});

describe('burns that are alike', () => {
  it.each([
    ['on the local chain', recent],
    ['on a cluster', priced(1_000n)],
    ['on a cluster where nothing is paid', priced(0n)],
    ['on a cluster where no more may be paid', priced(1_000_000_000n)],
  ])('never are the same bytes %s', async (_where, terms) => {
    const sequences = [0, 1, 2, 999, 1_000, 999_999, ...(terms.priority ? [1_000_000, 33_000_000] : [])];
    const signed = await signBurns(
      token,
      wallet,
      sequences.map((sequence) => burn(sequence)),
      terms,
    );
    expect(new Set(signed.map(({ signature }) => signature)).size).toBe(sequences.length);
  });
});

it('are not the same bytes in two registrations that share a burn wallet and count alike', async () => {
  const terms = priced(1_000n);
  const signatures = await Promise.all(
    ['one', 'two', 'three'].map(
      async (id) => (await signBurns({ ...token, id }, wallet, [burn(1)], terms))[0]?.signature,
    ),
  );
  expect(new Set(signatures).size).toBe(3);
});
