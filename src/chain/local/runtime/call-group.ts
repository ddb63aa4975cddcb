/** Calls that can run as one LiteSVM transaction, and that transaction's bytes. */
import type { Address } from '../../../values/address.js';
import type { AccountMeta, Instruction } from '../../transaction/instruction.js';
import { orderMessageKeys } from '../../transaction/message-keys.js';
import { encodeTransaction } from '../../transaction/wire.js';

/** Accounts in one run at most: 64, less the payer and the compute-budget program. */
const MAX_GROUP_ACCOUNTS = 62;
const NO_BLOCKHASH = new Uint8Array(32);
const NO_SIGNATURE = new Uint8Array(64);

interface Rights {
  readonly signer: boolean;
  readonly writable: boolean;
}

/** The rights of each account in one call: the union over its places. */
function rightsIn(accounts: readonly AccountMeta[]): Map<Address, Rights> {
  const rights = new Map<Address, Rights>();
  for (const { address, signer, writable } of accounts) {
    const known = rights.get(address);
    rights.set(address, {
      signer: signer || known?.signer === true,
      writable: writable || known?.writable === true,
    });
  }
  return rights;
}

/**
 * How many of the calls, from `start`, may share a run: a transaction gives an account the same rights in all of its
 * instructions and never lets a called program be written, so the calls have to agree on every account.
 */
export function groupLength(calls: readonly Instruction[], start: number): number {
  const rights = new Map<Address, Rights>();
  const programs = new Set<Address>();
  for (let end = start; end < calls.length; end += 1) {
    const call = calls[end];
    if (call === undefined) break;
    programs.add(call.program);
    for (const [address, wanted] of rightsIn(call.accounts)) {
      const given = rights.get(address);
      const agrees =
        given === undefined || (given.signer === wanted.signer && given.writable === wanted.writable);
      if (!agrees && end > start) return end - start;
      rights.set(address, wanted);
    }
    const writesProgram = [...programs].some((program) => rights.get(program)?.writable === true);
    const tooMany = new Set([...rights.keys(), ...programs]).size > MAX_GROUP_ACCOUNTS;
    if ((writesProgram || tooMany) && end > start) return end - start;
  }
  return calls.length - start;
}

/** A run as LiteSVM takes it. */
export interface CompiledRun {
  readonly bytes: Uint8Array;
  /** In index order; the payer first. */
  readonly keys: readonly Address[];
  /** Addresses that the run may change, the payer left out. */
  readonly writable: readonly Address[];
}

/** Lays out instructions as a legacy transaction whose signatures are all zero. */
export function compileRun(payer: Address, instructions: readonly Instruction[]): CompiledRun {
  const { keys, indexOf, signers, writableSigners, writableNonSigners } = orderMessageKeys(
    payer,
    instructions,
  );
  const indexes = (accounts: readonly AccountMeta[]) =>
    Uint8Array.from(accounts, ({ address }) => indexOf.get(address) ?? 0);
  const bytes = encodeTransaction(
    Array.from({ length: signers }, () => NO_SIGNATURE),
    {
      version: 'legacy',
      requiredSignatures: signers,
      readonlySigned: signers - writableSigners,
      readonlyUnsigned: keys.length - signers - writableNonSigners,
      staticKeys: keys,
      blockhash: NO_BLOCKHASH,
      instructions: instructions.map(({ program, accounts, data }) => ({
        programIndex: indexOf.get(program) ?? 0,
        accountIndexes: indexes(accounts),
        data,
      })),
      lookups: [],
    },
  );
  const writable = [...keys.slice(1, writableSigners), ...keys.slice(signers, signers + writableNonSigners)];
  return { bytes, keys, writable };
}
