/**
 * Decodes Squads accounts from a cluster twice: with this project's layouts and with the official SDK. If the results differ,
 * no decision is based on the account.
 */

import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { readBuffer } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import type { ChainReader, Commitment } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import {
  type AccountLayout,
  BATCH,
  decodeAccount,
  hasTypeMark,
  MULTISIG,
  PROPOSAL,
  VAULT_BATCH_TRANSACTION,
} from '../squads/accounts.js';
import type { Message } from '../transaction/message.js';
import type { squadsAccounts } from './squads-sdk.js';

type Sdk = typeof squadsAccounts;

/** A kind of account. The layout has the SDK's name, and `inTheirWords` renames the fields to those of the SDK. */
const kind = <Value>(layout: AccountLayout<Value>, inTheirWords: (value: Value) => unknown) => ({
  name: layout.name,
  isOf: (data: AccountState['data']): boolean => hasTypeMark(layout, data),
  ourReading(data: AccountState['data']): string {
    const value = decodeAccount(layout, data);
    return value === undefined ? '' : textOf(inTheirWords(value));
  },
});

const messageOf = ({ instructions, lookups, ...message }: Message) => ({
  numSigners: message.signers,
  numWritableSigners: message.writableSigners,
  numWritableNonSigners: message.writableNonSigners,
  accountKeys: message.staticKeys,
  instructions: instructions.map(({ programIndex: programIdIndex, ...rest }) => ({
    programIdIndex,
    ...rest,
  })),
  addressTableLookups: lookups.map(({ table: accountKey, ...rest }) => ({ accountKey, ...rest })),
});

const KINDS = [
  kind(MULTISIG, ({ timeLockSeconds: timeLock, members, ...rest }) => ({
    ...{ ...rest, timeLock },
    members: members.map(({ key, permissions: mask }) => ({ key, permissions: { mask } })),
  })),
  kind(PROPOSAL, ({ status: { kind: __kind, ...status }, ...rest }) => ({
    ...rest,
    status: { __kind, ...status },
  })),
  kind(BATCH, (value) => value),
  kind(VAULT_BATCH_TRANSACTION, ({ message, ...rest }) => ({ ...rest, message: messageOf(message) })),
] as const;

/** Keys, numbers and bytes as text, fields sorted by name: equal JSON means equal values. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (value instanceof Uint8Array) return [...value].map(String);
  if (Array.isArray(value)) return value.map(plain);
  // Keys and big numbers of the SDK are objects that print themselves.
  if ('toBase58' in value && typeof value.toBase58 === 'function') return value.toBase58();
  if ('toTwos' in value) return String(value);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, field]) => [name, plain(field)]),
  );
}

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(plain(value)));

function theirReading(sdk: Sdk, name: string, data: Buffer): string {
  try {
    return textOf(sdk[name as 'Batch'].deserialize(data)[0]);
  } catch {
    return '';
  }
}

function requireSameReading(sdk: Sdk, address: Address, { owner, data }: AccountState): void {
  const found = owner === SQUADS_PROGRAM ? KINDS.find(({ isOf }) => isOf(data)) : undefined;
  if (found === undefined) return;
  const { name } = found;
  if (found.ourReading(data) === theirReading(sdk, name, readBuffer(data))) return;
  throw new FlywheelError(
    'ERR_APPROVAL_REFUSED',
    `The Squads SDK reads the ${name} account ${address} differently than flywheel.`,
    { hint: 'Do not approve the batch. Report this address as a bug.' },
  );
}

/**
 * Wraps a reader so that both decoders must agree on every Squads account. The SDK is loaded with the first one.
 * @throws `ERR_APPROVAL_REFUSED` from `getAccounts` when the decoders differ.
 */
export const withSecondDecoder = <Reader extends ChainReader>(
  reader: Reader,
  loadSdk: () => Promise<Sdk> = async () => (await import('./squads-sdk.js')).squadsAccounts,
): Reader =>
  new Proxy(reader, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name !== 'getAccounts') return typeof member === 'function' ? member.bind(target) : member;
      return async (addresses: readonly Address[], commitment?: Commitment) => {
        const states = await target.getAccounts(addresses, commitment);
        if (states.some((state) => state?.owner === SQUADS_PROGRAM)) {
          const sdk = await loadSdk();
          for (const [at, address] of addresses.entries()) {
            const state = states[at];
            if (state != null) requireSameReading(sdk, address, state);
          }
        }
        return states;
      };
    },
  });
