/** An instruction before it is compiled into a message. */
import type { Address } from '../../values/address.js';
import type { ReadonlyBytes } from '../../values/bytes.js';

export interface AccountMeta {
  readonly address: Address;
  readonly signer: boolean;
  readonly writable: boolean;
}

export interface Instruction {
  readonly program: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: ReadonlyBytes;
}

/** Account roles, as instruction builders write them. */
export const readonlyAccount = (address: Address): AccountMeta => ({
  address,
  signer: false,
  writable: false,
});
export const writableAccount = (address: Address): AccountMeta => ({
  address,
  signer: false,
  writable: true,
});
export const readonlySigner = (address: Address): AccountMeta => ({ address, signer: true, writable: false });
export const writableSigner = (address: Address): AccountMeta => ({ address, signer: true, writable: true });
