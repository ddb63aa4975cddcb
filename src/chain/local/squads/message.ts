/**
 * The message of a vault or batch transaction: decoding, checks, and execution with the vault as signer (docs/squads-v4.md,
 * sections 3 and 8).
 */
import { ADDRESS_LENGTH_BYTES, type Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import { key, option, struct, tryDecode, u8, u32, u64 } from '../../codec.js';
import { ADDRESS_LOOKUP_TABLE_PROGRAM } from '../../programs.js';
import { deriveWithBump, ephemeralSignerAddress, SEEDS } from '../../squads/addresses.js';
import { decodeVaultMessage, isWellFormed, lookedUpCount, storedMessageSize } from '../../squads/message.js';
import { type AccountMeta, instructionsOf, type Message, staticAccounts } from '../../transaction/message.js';
import { InstructionFailure, type Invocation } from '../runtime/execution.js';
import { LOOKUP_TABLE_META_BYTES, tableEntry } from '../runtime/resolve.js';
import { fail, panic } from './rules.js';

/** State of a lookup table; 0 is uninitialised (solana-address-lookup-table-interface, `ProgramState`). */
const INITIALISED = 1;

const meta = struct({
  kind: u32,
  deactivationSlot: u64,
  lastExtendedSlot: u64,
  lastExtendedStart: u8,
  authority: option(key),
});

function readLookupTable(data: ReadonlyBytes): readonly Address[] | undefined {
  if (tryDecode(meta, data)?.kind !== INITIALISED) return undefined;
  const bytes = data.length - LOOKUP_TABLE_META_BYTES;
  if (bytes < 0 || bytes % ADDRESS_LENGTH_BYTES !== 0) return undefined;
  return Array.from({ length: bytes / ADDRESS_LENGTH_BYTES }, (_, index) => tableEntry(data, index)).filter(
    (entry) => entry !== undefined,
  );
}

/** Bytes that do not decode are the runtime's BorshIoError; a message that is not well-formed is error 6006. */
export function readMessage(bytes: ReadonlyBytes): Message {
  const message = decodeVaultMessage(bytes);
  if (message === undefined) throw new InstructionFailure({ error: 'BorshIoError' });
  if (!isWellFormed(message)) fail('InvalidTransactionMessage');
  return message;
}

export const storedSize = (bytes: ReadonlyBytes): number => storedMessageSize(readMessage(bytes));

export const ephemeralBumps = (parent: Address, count: number): ReadonlyBytes =>
  Uint8Array.from({ length: count }, (_, index) => ephemeralSignerAddress(parent, index).bump);

/** Of one call, counting the vault (MAX_SIGNERS of the Solana runtime). */
const MAX_DERIVED_SIGNERS = 16;

interface MessageRun {
  readonly message: Message;
  readonly multisig: Address;
  readonly vaultIndex: number;
  readonly vaultBump: number;
  /** The ephemeral signers derive from this address: the vault transaction, or the batch. */
  readonly parent: Address;
  readonly ephemeralSignerBumps: ReadonlyBytes;
  readonly protectedAccounts: readonly Address[];
}

function derivedSigners(run: MessageRun): readonly Address[] {
  const vault = deriveWithBump(SEEDS.vault(run.multisig, run.vaultIndex), run.vaultBump);
  const ephemeral = [...run.ephemeralSignerBumps].map((bump, index) =>
    deriveWithBump(SEEDS.ephemeralSigner(run.parent, index), bump),
  );
  return [vault, ...ephemeral].map((address) => address ?? panic());
}

/** Check 4: static keys in order, with the rights of the message. */
function checkStaticKeys(
  statics: readonly AccountMeta[],
  given: readonly AccountMeta[],
  signing: readonly Address[],
): void {
  statics.forEach(({ address, signer, writable }, index) => {
    const account = given[index];
    if (account?.address !== address) fail('InvalidAccount');
    if (signer && !account.signer && !signing.includes(address)) fail('InvalidAccount');
    if (writable && !account.writable) fail('InvalidAccount');
  });
}

/** Check 5: looked-up accounts match the tables, and are writable where the message says so. */
function checkLookups(invocation: Invocation, message: Message, given: readonly AccountMeta[]): void {
  let position = message.staticKeys.length;
  for (const { table, writableIndexes, readonlyIndexes } of message.lookups) {
    const entries = readLookupTable(invocation.get(table).data);
    if (entries === undefined) fail('InvalidAccount');
    const places = [...writableIndexes, ...readonlyIndexes];
    places.forEach((index, place) => {
      const account = given[position + place];
      const mustBeWritable = place < writableIndexes.length;
      if (mustBeWritable && account?.writable !== true) fail('InvalidAccount');
      if (entries[index] === undefined || entries[index] !== account?.address) fail('InvalidAccount');
    });
    position += places.length;
  }
}

/** All keys in index order with the rights of the message: static, writable looked-up, readonly looked-up. */
function messageAccounts(message: Message, given: readonly AccountMeta[]): readonly AccountMeta[] {
  let position = message.staticKeys.length;
  const take = (indexes: ReadonlyBytes, writable: boolean): AccountMeta[] => {
    const taken = given.slice(position, position + indexes.length);
    position += indexes.length;
    return taken.map(({ address }) => ({ address, signer: false, writable }));
  };
  const lookedUp = message.lookups.map((lookup) => ({
    writable: take(lookup.writableIndexes, true),
    readonly: take(lookup.readonlyIndexes, false),
  }));
  return [
    ...staticAccounts(message),
    ...lookedUp.flatMap(({ writable }) => writable),
    ...lookedUp.flatMap(({ readonly }) => readonly),
  ];
}

export function runMessage(invocation: Invocation, remaining: readonly AccountMeta[], run: MessageRun): void {
  const { message } = run;
  const signing = derivedSigners(run);
  const { lookups } = message;
  if (remaining.length < lookups.length) fail('InvalidNumberOfAccounts');
  const tables = remaining.slice(0, lookups.length);
  const given = remaining.slice(lookups.length);
  tables.forEach(({ address }, at) => {
    const { owner } = invocation.get(address);
    if (owner !== ADDRESS_LOOKUP_TABLE_PROGRAM) fail('InvalidAccount');
    if (lookups[at]?.table !== address) fail('InvalidAccount');
  });
  if (given.length !== message.staticKeys.length + lookedUpCount(message)) {
    fail('InvalidNumberOfAccounts');
  }
  checkStaticKeys(staticAccounts(message), given, signing);
  checkLookups(invocation, message, given);
  const instructions = instructionsOf(message, messageAccounts(message, given)) ?? panic();
  const forbidden = instructions.findIndex(({ accounts }) =>
    accounts.some(({ address, writable }) => writable && run.protectedAccounts.includes(address)),
  );
  const isCalling = instructions.length > 0 && forbidden !== 0;
  if (isCalling && signing.length > MAX_DERIVED_SIGNERS) panic('Too many signers');
  invocation.invoke(forbidden < 0 ? instructions : instructions.slice(0, forbidden), signing);
  if (forbidden >= 0) fail('ProtectedAccount');
}
