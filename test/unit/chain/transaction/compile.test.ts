import { Keypair, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Instruction } from '../../../../src/chain/transaction/message.js';
import {
  addSignature,
  createKeypairSigner,
  type KeypairSigner,
  sign,
} from '../../../../src/chain/transaction/sign.js';
import {
  compileLegacyMessage,
  compileV0Message,
  decodeMessage,
  decodeTransaction,
  draftTransaction,
  unsigned,
} from '../../../../src/chain/transaction/wire.js';
import { base58Encode } from '../../../../src/values/bytes.js';
import { namedAddress, publicKey, toWeb3 } from '../../../support/oracle.js';

const blockhash = namedAddress('a blockhash');
const keypairs = Array.from({ length: 3 }, (_, n) => Keypair.fromSeed(new Uint8Array(32).fill(n + 1)));
const signers = keypairs.map((keypair) => createKeypairSigner(keypair.secretKey)) as [
  KeypairSigner,
  KeypairSigner,
  KeypairSigner,
];
const payer = signers[0].address;

/** Few addresses, so that they repeat with different permissions, also as programs. */
const anAddress = fc
  .integer({ min: 0, max: 9 })
  .map((n) => (n < 3 ? (signers[n] as KeypairSigner).address : namedAddress(`key ${n}`)));
const anInstruction: fc.Arbitrary<Instruction> = fc.record({
  program: anAddress,
  accounts: fc.array(fc.record({ address: anAddress, signer: fc.boolean(), writable: fc.boolean() }), {
    maxLength: 12,
  }),
  data: fc.uint8Array({ maxLength: 300 }),
});
const oracle = (instructions: readonly Instruction[]) =>
  new TransactionMessage({
    payerKey: publicKey(payer),
    recentBlockhash: blockhash,
    instructions: instructions.map(toWeb3),
  });

describe('compile', () => {
  it('gives the bytes of web3.js for any instructions, legacy and version 0', () => {
    fc.assert(
      fc.property(fc.array(anInstruction, { maxLength: 140 }), (instructions) => {
        const input = { payer, instructions, blockhash };
        const theirs = oracle(instructions);
        const legacy = compileLegacyMessage(input);
        const draft = draftTransaction(payer, instructions);
        expect(draft.bytes.length).toBe(unsigned(legacy).length);
        expect(draft.message.staticKeys).toEqual(decodeMessage(legacy).staticKeys);
        // web3.js serializes no more than a packet holds.
        if (unsigned(legacy).length <= 1_200) {
          expect(Buffer.from(legacy)).toEqual(Buffer.from(theirs.compileToLegacyMessage().serialize()));
          expect(Buffer.from(compileV0Message(input))).toEqual(
            Buffer.from(theirs.compileToV0Message().serialize()),
          );
        }
      }),
      { numRuns: 100 },
    );
  });

  it('refuses more accounts than an index can name', () => {
    const accounts = Array.from({ length: 260 }, (_, n) => ({
      address: namedAddress(`many ${n}`),
      signer: false,
      writable: false,
    }));
    const instructions = [{ program: namedAddress('program'), accounts, data: new Uint8Array() }];
    expect(() => compileLegacyMessage({ payer, instructions, blockhash })).toThrow('at most 256');
  });
});

describe('sign', () => {
  const instruction: Instruction = {
    program: namedAddress('program'),
    accounts: signers.map(({ address }) => ({ address, signer: true, writable: false })),
    data: Uint8Array.of(1, 2, 3),
  };
  const input = { payer, instructions: [instruction], blockhash };

  for (const compile of [compileLegacyMessage, compileV0Message]) {
    it(`gives the wire bytes and the signature of web3.js (${compile.name})`, async () => {
      const message = compile(input);
      const [{ bytes, signature }] = await sign([message], [signers[2], signers[0], signers[1]]);
      const theirs = VersionedTransaction.deserialize(bytes);
      const again = new VersionedTransaction(theirs.message);
      again.sign(keypairs);
      expect(Buffer.from(bytes)).toEqual(Buffer.from(again.serialize()));
      expect(signature).toBe(base58Encode(again.signatures[0] as Uint8Array));
      expect(unsigned(message).length).toBe(bytes.length);
    });
  }

  it('leaves 64 zeros where a signer is missing, and refuses that when all must sign', async () => {
    const message = compileV0Message(input);
    const theirs = VersionedTransaction.deserialize(await addSignature(unsigned(message), signers[1]));
    expect(theirs.signatures.map((bytes) => bytes.some((byte) => byte !== 0))).toEqual([false, true, false]);
    await expect(sign([message], [signers[1], signers[2]])).rejects.toThrow('Signature 0 of 3');
  });

  it('gives what is refused as no transaction where it is cut anywhere', async () => {
    const [{ bytes }] = await sign([compileV0Message(input)], signers);
    for (let length = 0; length < bytes.length; length += 1)
      expect(() => decodeTransaction(bytes.subarray(0, length))).toThrow('Not a transaction');
  });

  it('refuses a signer that is not asked for', async () => {
    const message = compileLegacyMessage({ ...input, instructions: [] });
    await expect(sign([message], [signers[0], signers[1]])).rejects.toThrow(signers[1].address);
  });
});
