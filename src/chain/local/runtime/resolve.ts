/**
 * Resolves the accounts of a transaction, lookup tables included, and their rights. LiteSVM decides whether the transaction may
 * run.
 */
import { ADDRESS_LENGTH_BYTES, type Address, addressFromBytes } from '../../../values/address.js';
import { partOf, type ReadonlyBytes } from '../../../values/bytes.js';
import { ADDRESS_LOOKUP_TABLE_PROGRAM, UPGRADEABLE_LOADER } from '../../programs.js';
import { type AccountMeta, isSigner, isWritable, type Lookup } from '../../transaction/message.js';
import type { WireMessage } from '../../transaction/wire.js';
import type { AccountSource } from '../vm.js';

/** Header of a lookup table (solana-address-lookup-table-interface, `LOOKUP_TABLE_META_SIZE`). */
export const LOOKUP_TABLE_META_BYTES = 56;

/** Programs and sysvars that are never writable (agave, `ReservedAccountKeys`). */
const RESERVED: ReadonlySet<string> = new Set([
  '11111111111111111111111111111111',
  'AddressLookupTab1e1111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  UPGRADEABLE_LOADER,
  'ComputeBudget111111111111111111111111111111',
  'Config1111111111111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'Feature111111111111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'NativeLoader1111111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
  'Stake11111111111111111111111111111111111111',
  'StakeConfig11111111111111111111111111111111',
  'Sysvar1111111111111111111111111111111111111',
  'SysvarC1ock11111111111111111111111111111111',
  'SysvarEpochRewards1111111111111111111111111',
  'SysvarEpochSchedu1e111111111111111111111111',
  'SysvarFees111111111111111111111111111111111',
  'Sysvar1nstructions1111111111111111111111111',
  'SysvarLastRestartS1ot1111111111111111111111',
  'SysvarRecentB1ockHashes11111111111111111111',
  'SysvarRent111111111111111111111111111111111',
  'SysvarRewards111111111111111111111111111111',
  'SysvarS1otHashes111111111111111111111111111',
  'SysvarS1otHistory11111111111111111111111111',
  'SysvarStakeHistory1111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'ZkE1Gama1Proof11111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
]);

export function tableEntry(data: ReadonlyBytes, index: number): Address | undefined {
  const start = LOOKUP_TABLE_META_BYTES + index * ADDRESS_LENGTH_BYTES;
  const bytes = partOf(data, start, start + ADDRESS_LENGTH_BYTES);
  return bytes.length === ADDRESS_LENGTH_BYTES ? addressFromBytes(bytes) : undefined;
}

function lookUp(lookup: Lookup, indexes: ReadonlyBytes, source: AccountSource): Address[] {
  const table = source.get(lookup.table);
  if (table?.owner !== ADDRESS_LOOKUP_TABLE_PROGRAM) return [];
  return [...indexes].flatMap((index) => tableEntry(table.data, index) ?? []);
}

/**
 * The accounts of a message in index order: static keys, writable looked-up, readonly looked-up. Missing table entries are left
 * out; the transaction then cannot run.
 */
export function resolveAccounts(message: WireMessage, source: AccountSource): readonly AccountMeta[] {
  const { staticKeys, instructions, lookups } = message;
  const writable = lookups.flatMap((lookup) => lookUp(lookup, lookup.writableIndexes, source));
  const readonly = lookups.flatMap((lookup) => lookUp(lookup, lookup.readonlyIndexes, source));
  const addresses = [...staticKeys, ...writable, ...readonly];
  const called = new Set(instructions.map(({ programIndex }) => addresses[programIndex]));
  // A called program is readonly unless the upgradeable loader is among the accounts.
  if (addresses.some((address) => address === UPGRADEABLE_LOADER)) called.clear();
  return addresses.map((address, index) => {
    const asked =
      index < staticKeys.length ? isWritable(message, index) : index < staticKeys.length + writable.length;
    return {
      address,
      signer: isSigner(message, index),
      writable: asked && !called.has(address) && !RESERVED.has(address),
    };
  });
}
