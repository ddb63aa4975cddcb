import { PublicKey } from '@solana/web3.js';
import * as sqds from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import { encode, tryDecode } from '../../../../../src/chain/codec.js';
import {
  type AccountLayout,
  BATCH,
  decodeAccount,
  encodeAccount,
  MULTISIG,
  PROGRAM_CONFIG,
  PROPOSAL,
  VAULT_BATCH_TRANSACTION,
  VAULT_TRANSACTION,
} from '../../../../../src/chain/squads/accounts.js';
import * as addresses from '../../../../../src/chain/squads/addresses.js';
import { isCurvePoint } from '../../../../../src/chain/squads/curve.js';
import { decodeArguments, identifierOf } from '../../../../../src/chain/squads/instructions.js';
import {
  argumentMessage,
  storedMessage,
  storedMessageSize,
} from '../../../../../src/chain/squads/message.js';
import { type Address, addressBytes } from '../../../../../src/values/address.js';
import { type ReadonlyBytes, readBuffer } from '../../../../../src/values/bytes.js';
import { sha256 } from '../../../../../src/values/digest.js';
import { readVectors } from '../../../../conformance/squads/vector.js';
import { Random } from '../../../../fuzz/random.js';

const vectors = readVectors('test/conformance/vectors/squads', { metered: true });
const random = new Random(7);
const someKey = (): PublicKey => new PublicKey(random.bytes(32));
const asAddress = (key: PublicKey): Address => key.toBase58() as Address;

/** Data of every recorded account of a kind, each once. */
const recorded = (layout: { readonly typeMark: ReadonlyBytes }): Uint8Array[] => {
  const found = new Map<string, Uint8Array>();
  for (const { pre, post } of vectors) {
    for (const account of [...Object.values(pre), ...Object.values(post)]) {
      const data = Buffer.from(account?.data ?? '', 'base64');
      if (data.subarray(0, 8).equals(readBuffer(layout.typeMark)))
        found.set(account?.data ?? '', Uint8Array.from(data));
    }
  }
  return [...found.values()];
};

describe('account layouts', () => {
  it.each([
    [MULTISIG, sqds.accounts.Multisig],
    [PROPOSAL, sqds.accounts.Proposal],
    [BATCH, sqds.accounts.Batch],
    [VAULT_BATCH_TRANSACTION, sqds.accounts.VaultBatchTransaction],
    [VAULT_TRANSACTION, sqds.accounts.VaultTransaction],
    [PROGRAM_CONFIG, sqds.accounts.ProgramConfig],
  ] as const)('write again what was recorded, and what the public client writes: %#', (layout, oracle) => {
    const all = recorded(layout);
    expect(all.length).toBeGreaterThan(0);
    for (const data of all) {
      const value = decodeAccount<object>(layout as AccountLayout<object>, data);
      expect(value).toBeDefined();
      const written = Buffer.from(encodeAccount<object>(layout as AccountLayout<object>, value ?? {}));
      expect(written.equals(data.subarray(0, written.length))).toBe(true);
      const [theirs] = oracle.deserialize(Buffer.from(data));
      const [bytes] = theirs.serialize();
      expect(written.equals(bytes.subarray(0, written.length))).toBe(true);
    }
  });
});

describe('message layouts', () => {
  it('carry the same content in both encodings, stored as long as the formula says', () => {
    for (const data of recorded(VAULT_BATCH_TRANSACTION)) {
      const message = decodeAccount(VAULT_BATCH_TRANSACTION, data)?.message;
      if (message === undefined) throw new Error('not decoded');
      const argument = encode(argumentMessage, message);
      expect(encode(storedMessage, message)).toHaveLength(storedMessageSize(message));
      expect(tryDecode(argumentMessage, argument)).toEqual(message);
      const [theirs] = sqds.types.transactionMessageBeet.deserialize(Buffer.from(argument));
      expect(theirs.accountKeys.map((key) => key.toBase58())).toEqual(message.staticKeys);
      expect(theirs.instructions.map((one) => [one.programIdIndex, ...one.data])).toEqual(
        message.instructions.map((one) => [one.programIndex, ...one.data]),
      );
    }
  });
});

describe('instruction layouts', () => {
  it.each([
    ['a boolean of 2', 'proposalCreate', '0100000000000000', '02'],
    ['an option tag of 2', 'proposalApprove', '', '02'],
    ['text that is not UTF-8', 'proposalApprove', '01', '01000000ff'],
    ['text beyond the data', 'proposalApprove', '01', '05000000616263'],
    ['no arguments at all', 'batchCreate', '', ''],
  ] as const)('refuse %s', (_, name, start, rest) => {
    const data = Buffer.concat([Buffer.from(identifierOf(name), 'hex'), Buffer.from(start + rest, 'hex')]);
    expect(decodeArguments(name, data)).toBeUndefined();
  });
});

describe('addresses', () => {
  it('are those of the public client', () => {
    for (let round = 0; round < 20; round += 1) {
      const multisigPda = someKey();
      const index = BigInt(random.bits());
      const number = random.bits();
      const small = random.below(256);
      const key = asAddress(multisigPda);
      const pairs: [addresses.DerivedAddress, [PublicKey, number]][] = [
        [addresses.programConfigAddress(), sqds.getProgramConfigPda({})],
        [addresses.multisigAddress(key), sqds.getMultisigPda({ createKey: multisigPda })],
        [addresses.vaultAddress(key, small), sqds.getVaultPda({ multisigPda, index: small })],
        [addresses.transactionAddress(key, index), sqds.getTransactionPda({ multisigPda, index })],
        [
          addresses.proposalAddress(key, index),
          sqds.getProposalPda({ multisigPda, transactionIndex: index }),
        ],
        [
          addresses.batchTransactionAddress(key, index, number),
          sqds.getBatchTransactionPda({ multisigPda, batchIndex: index, transactionIndex: number }),
        ],
        [
          addresses.ephemeralSignerAddress(key, small),
          sqds.getEphemeralSignerPda({ transactionPda: multisigPda, ephemeralSignerIndex: small }),
        ],
      ];
      for (const [ours, [address, bump]] of pairs) {
        expect(ours).toEqual({ address: address.toBase58(), bump });
      }
      const seeds = addresses.SEEDS.vault(key, small);
      const { bump, address } = addresses.derive(seeds);
      expect(addresses.deriveWithBump(seeds, bump)).toBe(address);
      if (bump < 255) expect(addresses.deriveWithBump(seeds, bump + 1)).toBeNull();
    }
  });
});

describe('isCurvePoint', () => {
  it('agrees with web3.js', () => {
    for (let round = 0; round < 300; round += 1) {
      const key = someKey();
      expect(isCurvePoint(addressBytes(asAddress(key)))).toBe(PublicKey.isOnCurve(key.toBytes()));
      const hash = Buffer.from(sha256(`${round}`), 'hex');
      expect([round, isCurvePoint(hash)]).toEqual([round, PublicKey.isOnCurve(hash)]);
    }
  });

  it('agrees with web3.js on values next to powers of two and to the prime', () => {
    const prime = 2n ** 255n - 19n;
    const near = [prime, ...Array.from({ length: 255 }, (_, bit) => 1n << BigInt(bit))];
    const values = near.flatMap((one) => [one - 2n, one - 1n, one, one + 1n, one + 2n]);
    for (const value of values.filter((one) => one >= 0n && one < prime)) {
      const bytes = Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
      expect([value, isCurvePoint(bytes)]).toEqual([value, PublicKey.isOnCurve(bytes)]);
    }
  });
});
