/** Calls that can run as one LiteSVM transaction, and that transaction's bytes. */
import type { Address } from '../../../values/address.js';
import type { AccountMeta, Instruction } from '../../transaction/instruction.js';
import { orderMessageKeys } from '../../transaction/message-keys.js';
import { encodeTransaction, type WireInstruction } from '../../transaction/wire.js';

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
  for (const account of accounts) {
    const { address, signer, writable } = account;
    const known = rights.get(address);
    rights.set(
      address,
      known === undefined
        ? account
        : { signer: signer || known.signer, writable: writable || known.writable },
    );
  }
  return rights;
}

/** What a group gives its accounts so far. */
class GroupRights {
  readonly #rights = new Map<Address, Rights>();
  readonly #programs = new Set<Address>();
  /** Programs and accounts. */
  readonly #named = new Set<Address>();

  /** Takes a call in. @returns `false` if it asks for other rights than those given, or for more than a run can have. */
  add(call: Instruction): boolean {
    this.#programs.add(call.program);
    this.#named.add(call.program);
    for (const [address, wanted] of rightsIn(call.accounts)) {
      const given = this.#rights.get(address);
      if (given !== undefined && (given.signer !== wanted.signer || given.writable !== wanted.writable)) {
        return false;
      }
      this.#rights.set(address, wanted);
      this.#named.add(address);
    }
    for (const program of this.#programs) if (this.#rights.get(program)?.writable === true) return false;
    return this.#named.size <= MAX_GROUP_ACCOUNTS;
  }
}

/**
 * How many of the calls, from the first, may share a run: a transaction gives an account the same rights in all of its
 * instructions and never lets a called program be written, so the calls have to agree on every account.
 */
export function groupLength(calls: readonly Instruction[]): number {
  if (calls.length <= 1) return calls.length;
  const rights = new GroupRights();
  const stranger = calls.findIndex((call, at) => !rights.add(call) && at > 0);
  return stranger < 0 ? calls.length : stranger;
}

/** A run as LiteSVM takes it. */
export interface CompiledRun {
  readonly bytes: Uint8Array;
  /** In index order; the payer first. */
  readonly keys: readonly Address[];
  /** Addresses that the run may change, the payer left out. */
  readonly writable: readonly Address[];
}

function compileCall(
  { program, accounts, data }: Instruction,
  indexOf: ReadonlyMap<Address, number>,
): WireInstruction {
  const accountIndexes = new Uint8Array(accounts.length);
  for (let at = 0; at < accounts.length; at += 1) {
    const account = accounts[at];
    if (account !== undefined) accountIndexes[at] = indexOf.get(account.address) ?? 0;
  }
  return { programIndex: indexOf.get(program) ?? 0, accountIndexes, data };
}

/** Lays out instructions as a legacy transaction whose signatures are all zero. */
export function compileRun(payer: Address, calls: readonly Instruction[]): CompiledRun {
  const { keys, indexOf, signers, writableSigners, writableNonSigners } = orderMessageKeys(payer, calls);
  const instructions: WireInstruction[] = [];
  for (const call of calls) instructions.push(compileCall(call, indexOf));
  const bytes = encodeTransaction(new Array<Uint8Array>(signers).fill(NO_SIGNATURE), {
    version: 'legacy',
    requiredSignatures: signers,
    readonlySigned: signers - writableSigners,
    readonlyUnsigned: keys.length - signers - writableNonSigners,
    staticKeys: keys,
    blockhash: NO_BLOCKHASH,
    instructions,
    lookups: [],
  });
  const writable = keys.filter(
    (_, at) => (at > 0 && at < writableSigners) || (at >= signers && at < signers + writableNonSigners),
  );
  return { bytes, keys, writable };
}
