/** The program-derived addresses of Squads v4 (squads-v4.md, section 1), and how any such address is found. */
import { hash } from 'node:crypto';
import { type Address, addressBytes, addressFromBytes } from '../../values/address.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { ASSOCIATED_TOKEN_PROGRAM, SQUADS_PROGRAM } from '../programs.js';
import { isCurvePoint } from './curve.js';

/** An address and the bump that takes it off the curve. */
export interface DerivedAddress {
  readonly address: Address;
  readonly bump: number;
}

const MAX_BUMP = 255;
const CACHE_LIMIT = 8_192;
const MARKER = Buffer.from('ProgramDerivedAddress', 'ascii');

/** What an address derives from: the seeds, and a name for them by which results are kept. */
export interface Seeds {
  /** Different for different seeds. */
  readonly name: string;
  readonly parts: () => readonly ReadonlyBytes[];
}

const canonical = new Map<string, DerivedAddress>();
const withBump = new Map<string, Address | null>();

function keep<Value>(cache: Map<string, Value>, name: string, value: Value): Value {
  if (cache.size >= CACHE_LIMIT) cache.clear();
  cache.set(name, value);
  return value;
}

/** Hashes seeds with one bump after the other. */
function bumpHasher(parts: readonly ReadonlyBytes[], program: Address): (bump: number) => Uint8Array {
  const seeds = parts.map(readBuffer);
  const all = Buffer.concat([...seeds, Buffer.alloc(1), readBuffer(addressBytes(program)), MARKER]);
  const bumpAt = seeds.reduce((sum, { length }) => sum + length, 0);
  return (bump) => {
    all[bumpAt] = bump;
    return hash('sha256', all, 'buffer');
  };
}

/** The address of these seeds with a given bump, or `null` when it lies on the curve and so is none. */
export function deriveWithBump(
  seeds: Seeds,
  bump: number,
  program: Address = SQUADS_PROGRAM,
): Address | null {
  const found = canonical.get(`${seeds.name}@${program}`);
  if (found?.bump === bump) return found.address;
  const name = `${seeds.name}#${bump}@${program}`;
  const known = withBump.get(name);
  if (known !== undefined) return known;
  const bytes = bumpHasher(seeds.parts(), program)(bump);
  return keep(withBump, name, isCurvePoint(bytes) ? null : addressFromBytes(bytes));
}

/** The address of these seeds with the highest bump that works: the canonical one. */
export function derive(seeds: Seeds, program: Address = SQUADS_PROGRAM): DerivedAddress {
  const name = `${seeds.name}@${program}`;
  const known = canonical.get(name);
  if (known !== undefined) return known;
  const hashWith = bumpHasher(seeds.parts(), program);
  let bump = MAX_BUMP;
  let bytes = hashWith(bump);
  // Half of all hashes are off the curve, so that none of 256 is cannot happen.
  while (isCurvePoint(bytes)) {
    bump -= 1;
    bytes = hashWith(bump);
  }
  return keep(canonical, name, { address: addressFromBytes(bytes), bump });
}

const text = (value: string): Uint8Array => Buffer.from(value, 'ascii');

function u32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

const PREFIX = text('multisig');

const transactionParts = (multisig: Address, index: bigint): readonly ReadonlyBytes[] => [
  PREFIX,
  addressBytes(multisig),
  text('transaction'),
  u64(index),
];

/** The seeds of each kind of address, in the order of the table in section 1. */
export const SEEDS = {
  programConfig: (): Seeds => ({ name: 'config', parts: () => [PREFIX, text('program_config')] }),
  multisig: (createKey: Address): Seeds => ({
    name: `multisig ${createKey}`,
    parts: () => [PREFIX, text('multisig'), addressBytes(createKey)],
  }),
  vault: (multisig: Address, vaultIndex: number): Seeds => ({
    name: `vault ${multisig} ${vaultIndex}`,
    parts: () => [PREFIX, addressBytes(multisig), text('vault'), Uint8Array.of(vaultIndex)],
  }),
  transaction: (multisig: Address, index: bigint): Seeds => ({
    name: `transaction ${multisig} ${index}`,
    parts: () => transactionParts(multisig, index),
  }),
  proposal: (multisig: Address, index: bigint): Seeds => ({
    name: `proposal ${multisig} ${index}`,
    parts: () => [...transactionParts(multisig, index), text('proposal')],
  }),
  batchTransaction: (multisig: Address, batchIndex: bigint, number: number): Seeds => ({
    name: `batch transaction ${multisig} ${batchIndex} ${number}`,
    parts: () => [...transactionParts(multisig, batchIndex), text('batch_transaction'), u32(number)],
  }),
  ephemeralSigner: (parent: Address, index: number): Seeds => ({
    name: `ephemeral signer ${parent} ${index}`,
    parts: () => [PREFIX, addressBytes(parent), text('ephemeral_signer'), Uint8Array.of(index)],
  }),
} as const;

/** Where the program's configuration lies. */
export const programConfigAddress = (): DerivedAddress => derive(SEEDS.programConfig());

/** The multisig that was created with this key. */
export const multisigAddress = (createKey: Address): DerivedAddress => derive(SEEDS.multisig(createKey));

/** A vault of the multisig; 0 is the usual one. */
export const vaultAddress = (multisig: Address, vaultIndex: number): DerivedAddress =>
  derive(SEEDS.vault(multisig, vaultIndex));

/** The vault transaction or batch of this index; the first index is 1. */
export const transactionAddress = (multisig: Address, index: bigint): DerivedAddress =>
  derive(SEEDS.transaction(multisig, index));

/** The proposal for the vault transaction or batch of this index. */
export const proposalAddress = (multisig: Address, index: bigint): DerivedAddress =>
  derive(SEEDS.proposal(multisig, index));

/** Transaction `number` of a batch; the first number is 1. */
export const batchTransactionAddress = (
  multisig: Address,
  batchIndex: bigint,
  number: number,
): DerivedAddress => derive(SEEDS.batchTransaction(multisig, batchIndex, number));

/** An ephemeral signer; `parent` is the vault transaction, or for all transactions of a batch the batch itself. */
export const ephemeralSignerAddress = (parent: Address, index: number): DerivedAddress =>
  derive(SEEDS.ephemeralSigner(parent, index));

/** The associated token account of a wallet, for the token program that owns the mint. */
export const associatedTokenAddress = (wallet: Address, mint: Address, tokenProgram: Address): Address =>
  derive(
    {
      name: `token account ${wallet} ${mint} ${tokenProgram}`,
      parts: () => [addressBytes(wallet), addressBytes(tokenProgram), addressBytes(mint)],
    },
    ASSOCIATED_TOKEN_PROGRAM,
  ).address;
