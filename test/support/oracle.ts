/** Builds instructions with web3.js and the official libraries, to compare ours with. */
import { createHash } from 'node:crypto';
import { PublicKey, TransactionInstruction } from '@solana/web3.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import { type Address, addressFromBytes } from '../../src/values/address.js';

export const namedAddress = (name: string): Address =>
  addressFromBytes(createHash('sha256').update(name).digest());

export const publicKey = (value: Address): PublicKey => new PublicKey(value);

export const toWeb3 = ({ program, accounts, data }: Instruction): TransactionInstruction =>
  new TransactionInstruction({
    programId: publicKey(program),
    keys: accounts.map(({ address, signer, writable }) => ({
      pubkey: publicKey(address),
      isSigner: signer,
      isWritable: writable,
    })),
    data: Buffer.from(data),
  });
