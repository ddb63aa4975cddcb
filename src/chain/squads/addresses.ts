/** The program-derived addresses of Squads v4 (squads-v4.md, section 1), and the derivation itself. */
import { hash } from 'node:crypto';
import { type Address, addressBytes, addressFromBytes, isCurvePoint } from '../../values/address.js';
import { type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { encode, u32, u64 } from '../codec.js';
import { ASSOCIATED_TOKEN_PROGRAM, SQUADS_PROGRAM } from '../programs.js';

interface DerivedAddress {
  readonly address: Address;
  readonly bump: number;
}

const MAX_BUMP = 255;
const CACHE_LIMIT = 8_192;
const MARKER = Buffer.from('ProgramDerivedAddress', 'ascii');

type Seeds = readonly ReadonlyBytes[];

/** Cache by hashed bytes: a derivation takes 0.1 ms, and a batch repeats the same few. */
const known = new Map<string, Address | null>();

/** The address of these seeds with a given bump, or `null` if the hash lies on the curve and so is not a valid address. */
export function deriveWithBump(
  seeds: Seeds,
  bump: number,
  program: Address = SQUADS_PROGRAM,
): Address | null {
  const hashed = [...seeds, Uint8Array.of(bump), addressBytes(program), MARKER];
  const bytes = Buffer.concat(hashed.map(readBuffer));
  const name = bytes.toString('latin1');
  const found = known.get(name);
  if (found !== undefined) return found;
  const digest = hash('sha256', bytes, 'buffer');
  const address = isCurvePoint(digest) ? null : addressFromBytes(digest);
  if (known.size >= CACHE_LIMIT) known.clear();
  known.set(name, address);
  return address;
}

/** The address with the canonical bump: the highest one off the curve. */
export function derive(seeds: Seeds, program: Address = SQUADS_PROGRAM): DerivedAddress {
  // Half of all hashes lie off the curve, so 256 failures cannot happen.
  for (let bump = MAX_BUMP; ; bump -= 1) {
    const address = deriveWithBump(seeds, bump, program);
    if (address !== null) return { address, bump };
  }
}

const text = (value: string): Uint8Array => Buffer.from(value, 'ascii');

const PREFIX = text('multisig');

const transaction = (multisig: Address, index: bigint): Seeds => [
  PREFIX,
  addressBytes(multisig),
  text('transaction'),
  encode(u64, index),
];

/** Seeds per kind of address, in the order of the table in section 1. Numbers of transactions in a batch begin with 1. */
export const SEEDS = {
  programConfig: (): Seeds => [PREFIX, text('program_config')],
  multisig: (createKey: Address): Seeds => [PREFIX, text('multisig'), addressBytes(createKey)],
  vault: (multisig: Address, vaultIndex: number): Seeds => [
    PREFIX,
    addressBytes(multisig),
    text('vault'),
    Uint8Array.of(vaultIndex),
  ],
  transaction,
  proposal: (multisig: Address, index: bigint): Seeds => [...transaction(multisig, index), text('proposal')],
  batchTransaction: (multisig: Address, batchIndex: bigint, number: number): Seeds => [
    ...transaction(multisig, batchIndex),
    text('batch_transaction'),
    encode(u32, number),
  ],
  /** The parent is the vault transaction; for every transaction of a batch, the batch itself. */
  ephemeralSigner: (parent: Address, index: number): Seeds => [
    PREFIX,
    addressBytes(parent),
    text('ephemeral_signer'),
    Uint8Array.of(index),
  ],
} as const;

const derived =
  <From extends readonly unknown[]>(seeds: (...from: From) => Seeds) =>
  (...from: From): DerivedAddress =>
    derive(seeds(...from));

export const programConfigAddress = derived(SEEDS.programConfig);
export const multisigAddress = derived(SEEDS.multisig);
export const vaultAddress = derived(SEEDS.vault);
/** Of the vault transaction or batch of an index; the first index is 1. */
export const transactionAddress = derived(SEEDS.transaction);
export const proposalAddress = derived(SEEDS.proposal);
export const batchTransactionAddress = derived(SEEDS.batchTransaction);
export const ephemeralSignerAddress = derived(SEEDS.ephemeralSigner);

export const associatedTokenAddress = (wallet: Address, mint: Address, tokenProgram: Address): Address =>
  derive([addressBytes(wallet), addressBytes(tokenProgram), addressBytes(mint)], ASSOCIATED_TOKEN_PROGRAM)
    .address;

/**
 * Whether a private key can exist for this address. Programs' derived addresses, vaults and associated token accounts lie off
 * the curve.
 */
export const isOnCurve = (address: Address): boolean => isCurvePoint(addressBytes(address));
