/**
 * Accounts of Squads that come from a cluster are decoded twice: by this project's layouts and by the SDK of the program's
 * makers. What the two read differently is not understood, and nothing is decided by it.
 */

import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { readBuffer } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import type { ChainReader, Commitment } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import {
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

/** Both readings of one kind of account, as values that compare; `undefined` for what cannot be decoded. */
interface Kind {
  readonly layout: {
    readonly name: string;
    readonly typeMark: Parameters<typeof hasTypeMark>[0]['typeMark'];
  };
  ours(data: AccountState['data']): unknown;
  theirs(sdk: Sdk, data: Buffer): unknown;
}

const ourMessage = (message: Message) => ({
  numSigners: message.signers,
  numWritableSigners: message.writableSigners,
  numWritableNonSigners: message.writableNonSigners,
  accountKeys: message.staticKeys,
  instructions: message.instructions.map(({ programIndex, accountIndexes, data }) => ({
    programIdIndex: programIndex,
    accountIndexes,
    data,
  })),
  addressTableLookups: message.lookups.map(({ table, writableIndexes, readonlyIndexes }) => ({
    accountKey: table,
    writableIndexes,
    readonlyIndexes,
  })),
});

const KINDS: readonly Kind[] = [
  {
    layout: MULTISIG,
    ours: (data) => {
      const value = decodeAccount(MULTISIG, data);
      if (value === undefined) return undefined;
      const { timeLockSeconds: timeLock, members, ...rest } = value;
      const masks = members.map(({ key, permissions }) => ({ key, permissions: { mask: permissions } }));
      return { ...rest, timeLock, members: masks };
    },
    theirs: (sdk, data) => sdk.Multisig.deserialize(data)[0],
  },
  {
    layout: PROPOSAL,
    ours: (data) => {
      const value = decodeAccount(PROPOSAL, data);
      if (value === undefined) return undefined;
      const { kind, ...rest } = value.status;
      return { ...value, status: { __kind: kind, ...rest } };
    },
    theirs: (sdk, data) => sdk.Proposal.deserialize(data)[0],
  },
  {
    layout: BATCH,
    ours: (data) => decodeAccount(BATCH, data),
    theirs: (sdk, data) => sdk.Batch.deserialize(data)[0],
  },
  {
    layout: VAULT_BATCH_TRANSACTION,
    ours: (data) => {
      const value = decodeAccount(VAULT_BATCH_TRANSACTION, data);
      return value === undefined ? undefined : { ...value, message: ourMessage(value.message) };
    },
    theirs: (sdk, data) => sdk.VaultBatchTransaction.deserialize(data)[0],
  },
];

/** Keys, numbers and bytes as text, fields in the order of their names: equal text, equal value. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (value instanceof Uint8Array) return [...value].map(String);
  if (Array.isArray(value)) return value.map(plain);
  // Keys and large numbers of the SDK are objects that know their text.
  if ('toBase58' in value && typeof value.toBase58 === 'function') return value.toBase58();
  if ('toTwos' in value) return String(value);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, field]) => [name, plain(field)]),
  );
}

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(plain(value)));

function theirReading({ theirs }: Kind, sdk: Sdk, data: Buffer): string {
  try {
    return textOf(theirs(sdk, data));
  } catch {
    return '';
  }
}

function requireSameReading(sdk: Sdk, address: Address, { owner, data }: AccountState): void {
  const kind = owner === SQUADS_PROGRAM ? KINDS.find(({ layout }) => hasTypeMark(layout, data)) : undefined;
  if (kind === undefined) return;
  if (textOf(kind.ours(data)) === theirReading(kind, sdk, readBuffer(data))) return;
  throw new FlywheelError(
    'ERR_APPROVAL_REFUSED',
    `The ${kind.layout.name} account ${address} is read in one way here and in another by the SDK of Squads.`,
    { hint: 'Do not approve it; report the address.' },
  );
}

/**
 * A reader whose accounts of Squads have been decoded by both; the SDK is loaded with the first of them.
 * @throws `ERR_APPROVAL_REFUSED` from `getAccounts` when the two differ.
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
