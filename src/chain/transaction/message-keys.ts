/** The order in which a message lists its accounts; the bytes around that list are decided by each message form. */
import type { Address } from '../../values/address.js';
import type { Instruction } from './instruction.js';

/**
 * Rights of an account as two bits, so that the union of two uses is `a & b`: 2 = does not sign, 1 = is not written.
 * Sorted by this number, accounts stand in the order of a message.
 */
const WRITABLE_SIGNER = 0;
const NOT_SIGNER = 2;
const NOT_WRITABLE = 1;
const READONLY = NOT_SIGNER | NOT_WRITABLE;

/** The accounts of a message, and the numbers that its header is made of. */
export interface MessageKeys {
  readonly keys: readonly Address[];
  readonly indexOf: ReadonlyMap<Address, number>;
  readonly signers: number;
  readonly writableSigners: number;
  readonly writableNonSigners: number;
}

function collectRoles(payer: Address, instructions: readonly Instruction[]): Map<Address, number> {
  const roles = new Map<Address, number>().set(payer, WRITABLE_SIGNER);
  for (const { program, accounts } of instructions) {
    if (!roles.has(program)) roles.set(program, READONLY);
    for (const { address, signer, writable } of accounts) {
      const role = (signer ? 0 : NOT_SIGNER) | (writable ? 0 : NOT_WRITABLE);
      roles.set(address, (roles.get(address) ?? READONLY) & role);
    }
  }
  return roles;
}

/**
 * Lists the accounts of a message: writable signers, readonly signers, writable, readonly; within each as first met, the
 * payer before all, and of an instruction its program before its accounts. A key's rights are the union over its uses.
 * The same order as `CompiledKeys` of web3.js; Squads vault messages share it, with the vault in the payer's place.
 */
export function orderMessageKeys(payer: Address, instructions: readonly Instruction[]): MessageKeys {
  const roles = collectRoles(payer, instructions);
  const groups: [Address[], Address[], Address[], Address[]] = [[], [], [], []];
  for (const [key, role] of roles) groups[role]?.push(key);
  const keys = groups[0].concat(groups[1], groups[2], groups[3]);
  // The keys are all there already: writing their places over their roles spares a second table.
  for (let index = 0; index < keys.length; index += 1) roles.set(keys[index] as Address, index);
  return {
    keys,
    indexOf: roles,
    signers: groups[0].length + groups[1].length,
    writableSigners: groups[0].length,
    writableNonSigners: groups[2].length,
  };
}
