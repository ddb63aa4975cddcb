/** The accounts of Squads v4, byte by byte (squads-v4.md, section 2). */
import { hash } from 'node:crypto';
import type { Address } from '../../values/address.js';
import { partOf, type ReadonlyBytes, readBuffer, sameBytes } from '../../values/bytes.js';
import {
  blob,
  type Codec,
  encode,
  fixed,
  i64,
  key,
  LayoutError,
  option,
  struct,
  tryDecode,
  u8,
  u16,
  u32,
  u64,
  vec,
} from '../codec.js';
import { storedMessage } from './message.js';

/** Permission bits of a member; 0 is allowed, a mask above {@link ALL_PERMISSIONS} is not. */
export const PERMISSION = { initiate: 1, vote: 2, execute: 4 } as const;
export const ALL_PERMISSIONS = 7;

export const TYPE_MARK_BYTES = 8;

/** No config authority: the zero key, equal to the address of the system program. */
export const NO_AUTHORITY = '11111111111111111111111111111111' as Address;

export interface AccountLayout<Value> {
  readonly name: string;
  /** First 8 bytes of SHA-256 of `account:<Type>`. */
  readonly typeMark: ReadonlyBytes;
  readonly fields: Codec<Value>;
}

type ValueOf<Layout> = Layout extends AccountLayout<infer Value> ? Value : never;

const layout = <Fields extends object>(name: string, fields: Parameters<typeof struct<Fields>>[0]) => ({
  name,
  typeMark: hash('sha256', `account:${name}`, 'buffer').subarray(0, TYPE_MARK_BYTES),
  fields: struct(fields),
});

export const memberCodec = struct({ key, permissions: u8 });

export type Multisig = ValueOf<typeof MULTISIG>;
export const MULTISIG = layout('Multisig', {
  createKey: key,
  configAuthority: key,
  threshold: u16,
  timeLockSeconds: u32,
  transactionIndex: u64,
  staleTransactionIndex: u64,
  rentCollector: option(key),
  bump: u8,
  members: vec(u32, memberCodec),
});

/** After a change of its configuration earlier proposals take no more votes; an approved one can still be executed. */
export const isStale = ({ staleTransactionIndex }: Pick<Multisig, 'staleTransactionIndex'>, index: bigint) =>
  index <= staleTransactionIndex;

export const votersOf = ({ members }: Pick<Multisig, 'members'>) =>
  members.filter(({ permissions }) => (permissions & PERMISSION.vote) !== 0);

/** How many votes reject an active proposal, and cancel an approved one. */
export const votesToEnd = (multisig: Pick<Multisig, 'members' | 'threshold'>) => ({
  rejected: votersOf(multisig).length - multisig.threshold + 1,
  cancelled: multisig.threshold,
});

/** In the order of their numbers. `Executing` has no timestamp and is no longer written. */
const PROPOSAL_STATUSES = [
  'Draft',
  'Active',
  'Rejected',
  'Approved',
  'Executing',
  'Executed',
  'Cancelled',
] as const;
export type ProposalStatusKind = (typeof PROPOSAL_STATUSES)[number];

const statusCodec: Codec<{ readonly kind: ProposalStatusKind; readonly timestamp: bigint }> = {
  read: (reader) => {
    const kind = PROPOSAL_STATUSES[u8.read(reader)];
    if (kind === undefined) throw new LayoutError('unknown proposal status');
    return { kind, timestamp: kind === 'Executing' ? 0n : i64.read(reader) };
  },
  write: (writer, { kind, timestamp }) => {
    u8.write(writer, PROPOSAL_STATUSES.indexOf(kind));
    if (kind !== 'Executing') i64.write(writer, timestamp);
  },
};

export type Proposal = ValueOf<typeof PROPOSAL>;
export const PROPOSAL = layout('Proposal', {
  multisig: key,
  transactionIndex: u64,
  status: statusCodec,
  bump: u8,
  approved: vec(u32, key),
  rejected: vec(u32, key),
  cancelled: vec(u32, key),
});

const ofVault = { multisig: key, creator: key, index: u64, bump: u8, vaultIndex: u8, vaultBump: u8 };
const content = { ephemeralSignerBumps: blob(u32), message: storedMessage };

export type Batch = ValueOf<typeof BATCH>;
export const BATCH = layout('Batch', { ...ofVault, size: u32, executedTransactionIndex: u32 });

export type VaultBatchTransaction = ValueOf<typeof VAULT_BATCH_TRANSACTION>;
export const VAULT_BATCH_TRANSACTION = layout('VaultBatchTransaction', { bump: u8, ...content });

export type VaultTransaction = ValueOf<typeof VAULT_TRANSACTION>;
export const VAULT_TRANSACTION = layout('VaultTransaction', { ...ofVault, ...content });

export type ProgramConfig = ValueOf<typeof PROGRAM_CONFIG>;
export const PROGRAM_CONFIG = layout('ProgramConfig', {
  authority: key,
  multisigCreationFeeLamports: u64,
  treasury: key,
  reserved: fixed(64),
});

/** Sizes of new accounts in bytes, the type mark included. */
export const ACCOUNT_SIZE = {
  /** Always includes room for the rent collector. */
  multisig: (members: number) => 132 + 33 * members,
  proposal: (members: number) => 70 + 96 * members,
  batch: 91,
  batchTransaction: (ephemeralSigners: number, storedMessageBytes: number) =>
    13 + ephemeralSigners + storedMessageBytes,
  vaultTransaction: (ephemeralSigners: number, storedMessageBytes: number) =>
    87 + ephemeralSigners + storedMessageBytes,
  programConfig: 144,
} as const;

export const hasTypeMark = (kind: Pick<AccountLayout<never>, 'typeMark'>, data: ReadonlyBytes): boolean =>
  data.length >= TYPE_MARK_BYTES && sameBytes(partOf(data, 0, TYPE_MARK_BYTES), kind.typeMark);

/** The account's value, or `undefined` for another kind or malformed data; trailing bytes are ignored. */
export const decodeAccount = <Value>(kind: AccountLayout<Value>, data: ReadonlyBytes): Value | undefined =>
  hasTypeMark(kind, data) ? tryDecode(kind.fields, data, TYPE_MARK_BYTES) : undefined;

export const encodeAccount = <Value>(kind: AccountLayout<Value>, value: Value): Uint8Array =>
  Buffer.concat([readBuffer(kind.typeMark), encode(kind.fields, value)]);
