/** Reads and writes accounts of the Squads program with its own SDK. */
import * as squads from '@sqds/multisig';
import type { Fixture } from './fixture.js';

type Sdk = typeof squads.accounts;

/** A class of the SDK for one kind of account. */
interface Class<Args> {
  deserialize(data: Buffer): [Args, number];
  fromArgs(args: Args): { serialize(): [Buffer, number] };
}

/** A kind of account: the bytes it begins with, and its class. */
export interface Kind<Args> {
  readonly mark: readonly number[];
  readonly of: Class<Args>;
}

type Args<Name extends keyof Sdk> = Sdk[Name] extends { fromArgs(args: infer Found): unknown }
  ? Found
  : never;
export type Multisig = Args<'Multisig'>;
export type Proposal = Args<'Proposal'>;
export type BatchTransaction = Args<'VaultBatchTransaction'>;

const { accounts } = squads;
export const MULTISIG: Kind<Multisig> = { mark: accounts.multisigDiscriminator, of: accounts.Multisig };
export const PROPOSAL: Kind<Proposal> = { mark: accounts.proposalDiscriminator, of: accounts.Proposal };
export const BATCH: Kind<Args<'Batch'>> = { mark: accounts.batchDiscriminator, of: accounts.Batch };
export const BATCH_TRANSACTION: Kind<BatchTransaction> = {
  mark: accounts.vaultBatchTransactionDiscriminator,
  of: accounts.VaultBatchTransaction,
};
export const VAULT_TRANSACTION: Kind<Args<'VaultTransaction'>> = {
  mark: accounts.vaultTransactionDiscriminator,
  of: accounts.VaultTransaction,
};
export const isOfKind = ({ mark }: Pick<Kind<never>, 'mark'>, data: Uint8Array): boolean =>
  Buffer.from(data).subarray(0, mark.length).equals(Buffer.from(mark));

/** Rewrites the value of an account and leaves the bytes behind it. */
export function rewrite<Value>(
  fixture: Fixture,
  index: number,
  { of }: Kind<Value>,
  change: (value: Value) => Value,
): void {
  const data = Buffer.from(fixture.state(index).data);
  const [bytes] = of.fromArgs(change(of.deserialize(data)[0])).serialize();
  fixture.setState(index, { data: Buffer.concat([bytes, data.subarray(bytes.length)]) });
}

/** Where an account of a multisig holds these numbers, each a u64. */
export const TRANSACTION_INDEX_AT = 78;
export const STALE_INDEX_AT = 86;
/** Where the program's configuration holds the fee for a new multisig, a u64. */
export const CREATION_FEE_AT = 40;

/** Writes a u64 into an account. */
export function setU64(fixture: Fixture, index: number, offset: number, value: bigint): void {
  const data = Buffer.from(fixture.state(index).data);
  data.writeBigUInt64LE(value, offset);
  fixture.setState(index, { data });
}

/** Lamports with which an account of so many bytes lives for ever. */
export const rentLamports = (sizeBytes: number): bigint => (128n + BigInt(sizeBytes)) * 6_960n;
