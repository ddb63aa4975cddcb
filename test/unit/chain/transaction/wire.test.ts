import {
  AddressLookupTableAccount,
  Keypair,
  PublicKey,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { isSigner, isWritable } from '../../../../src/chain/transaction/message.js';
import {
  decodeMessage,
  decodeTransaction,
  encodeMessage,
  encodeTransaction,
} from '../../../../src/chain/transaction/wire.js';
import { readBuffer } from '../../../../src/values/bytes.js';
import { Random } from '../../../fuzz/random.js';

const random = new Random(11);
const someKey = (): PublicKey => new PublicKey(random.bytes(32));

/** A transaction from web3.js: keys from a table, long data, many accounts. */
function example(version: 'legacy' | 0): { bytes: Uint8Array; transaction: VersionedTransaction } {
  const payer = Keypair.fromSeed(random.bytes(32));
  const keys = Array.from({ length: 3 + random.below(9) }, () => ({
    pubkey: someKey(),
    isSigner: false,
    isWritable: random.oneIn(2),
  }));
  const table = new AddressLookupTableAccount({
    key: someKey(),
    state: {
      deactivationSlot: 2n ** 64n - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
      addresses: keys.slice(0, 3).map(({ pubkey }) => pubkey),
    },
  });
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: someKey().toBase58(),
    instructions: [{ programId: someKey(), keys, data: Buffer.from(random.bytes(random.below(400))) }],
  });
  const transaction = new VersionedTransaction(
    version === 0 ? message.compileToV0Message([table]) : message.compileToLegacyMessage(),
  );
  transaction.sign([payer]);
  return { bytes: transaction.serialize(), transaction };
}

describe('decodeTransaction', () => {
  it.each(['legacy', 0] as const)('reads what web3.js writes, and writes it again: %s', (version) => {
    for (let round = 0; round < 40; round += 1) {
      const { bytes, transaction } = example(version);
      const { signatures, message, messageBytes } = decodeTransaction(bytes);
      expect(message.version).toBe(version);
      expect(message.staticKeys).toEqual(transaction.message.staticAccountKeys.map((key) => key.toBase58()));
      message.staticKeys.forEach((_, index) => {
        expect(isSigner(message, index)).toBe(transaction.message.isAccountSigner(index));
        expect(isWritable(message, index)).toBe(transaction.message.isAccountWritable(index));
      });
      expect(message.lookups.map(({ table }) => table)).toEqual(
        transaction.message.addressTableLookups.map(({ accountKey }) => accountKey.toBase58()),
      );
      expect(Buffer.from(messageBytes).equals(transaction.message.serialize())).toBe(true);
      expect(Buffer.from(encodeMessage(message)).equals(readBuffer(messageBytes))).toBe(true);
      expect(Buffer.from(encodeTransaction(signatures, encodeMessage(message))).equals(bytes)).toBe(true);
      expect(Buffer.from(encodeTransaction(signatures, messageBytes)).equals(bytes)).toBe(true);
    }
  });

  it('refuses every cut of a transaction, and bytes behind it', () => {
    const { bytes } = example(0);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeTransaction(bytes.subarray(0, length))).toThrow('Not a transaction');
    }
    expect(() => decodeTransaction(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow('bytes are left over');
  });

  it.each([
    ['80 00', [0x80, 0x00]],
    ['81 80 00', [0x81, 0x80, 0x00]],
    ['ff ff 04', [0xff, 0xff, 0x04]],
    ['ff ff ff 00', [0xff, 0xff, 0xff, 0x00]],
  ])('refuses a length of signatures that is not in its shortest form or too long: %s', (_, start) => {
    expect(() => decodeTransaction(Uint8Array.from([...start, ...new Array<number>(300).fill(0)]))).toThrow(
      'shortest form',
    );
  });

  it('refuses versions it does not know', () => {
    expect(() => decodeMessage(Uint8Array.of(0x81, 1, 0, 0))).toThrow('unknown message version 1');
  });
});
