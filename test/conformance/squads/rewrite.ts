/** Reads and writes accounts of the Squads program with its own SDK. */
import * as squads from '@sqds/multisig';
import type { Fixture } from './fixture.js';

type Sdk = typeof squads.accounts;

interface Class<Args> {
  deserialize(data: Buffer): [Args, number];
  fromArgs(args: Args): { serialize(): [Buffer, number] };
}

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

/** Rewrites the value of an account and keeps the bytes after it. */
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

/** Offsets of u64 values in a multisig account. */
export const TRANSACTION_INDEX_AT = 78;
export const STALE_INDEX_AT = 86;
/** Offset of the fee for a new multisig in the program's configuration, a u64. */
export const CREATION_FEE_AT = 40;

export function setU64(fixture: Fixture, index: number, offset: number, value: bigint): void {
  const data = Buffer.from(fixture.state(index).data);
  data.writeBigUInt64LE(value, offset);
  fixture.setState(index, { data });
}

export const rentLamports = (sizeBytes: number): bigint => (128n + BigInt(sizeBytes)) * 6_960n;
