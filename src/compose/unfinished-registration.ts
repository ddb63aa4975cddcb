/** A registration that has begun: what was wanted, the keys that were made for it, and what was signed last. */
import { rmSync } from 'node:fs';
import { createKeypairSigner, generateKeypair } from '../chain/transaction/signer.js';
import type { ClusterRegistration } from '../contract/registration.js';
import type { Unit } from '../engine/settle/fate.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { readIfThere } from '../files/read-file.js';
import type { SentRegistration } from '../registration/land.js';
import { type Address, address, isAddress } from '../values/address.js';
import { randomIds } from '../values/ids.js';
import { writePrivate } from './local-config.js';

/** What makes one registration another one. */
export type Wanted = ClusterRegistration & { readonly genesisHash: string };

/** What `registration.json` says. */
export interface UnfinishedRegistration {
  /** By which a database knows it. */
  readonly id: string;
  /** What was wanted, name by name, as JSON text. */
  readonly wanted: Readonly<Record<string, string>>;
  readonly burnWallet: Address;
  /** `null` where the multisig is there already. */
  readonly createKey: Address | null;
  readonly sent: Unit | null;
}

const FORMAT_VERSION = 1;

/** Each setting as text, to be compared. */
export const wantedTexts = (wanted: Wanted): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(wanted)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : JSON.stringify(value)]),
  );

/** Names of the settings that differ. */
export function differences(
  left: UnfinishedRegistration['wanted'],
  right: UnfinishedRegistration['wanted'],
): readonly string[] {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].filter((name) => left[name] !== right[name]).sort();
}

type Json = Readonly<Record<string, unknown>>;

function parse(text: string): UnfinishedRegistration | undefined {
  const { version, id, wanted, burnWallet, createKey, sent } = JSON.parse(text) as Json;
  const isKey = (value: unknown): value is Address => typeof value === 'string' && isAddress(value);
  if (version !== FORMAT_VERSION || typeof id !== 'string') return undefined;
  if (!isKey(burnWallet) || (createKey !== null && !isKey(createKey))) return undefined;
  const settings = Object.fromEntries(
    Object.entries(wanted as Json).map(([name, value]) => [name, String(value)]),
  );
  return { id, wanted: settings, burnWallet, createKey, sent: sent === null ? null : unitOf(sent as Json) };
}

const unitOf = ({ signature, wire, lastValidBlockHeight }: Json): Unit => ({
  transactions: [{ signature: String(signature), bytes: Buffer.from(String(wire), 'base64') }],
  lastValidBlockHeight: BigInt(String(lastValidBlockHeight)),
});

function sentJson(unit: Unit | null): unknown {
  const [transaction] = unit?.transactions ?? [];
  if (unit === null || transaction === undefined) return null;
  return {
    signature: transaction.signature,
    wire: Buffer.from(transaction.bytes).toString('base64'),
    lastValidBlockHeight: unit.lastValidBlockHeight.toString(),
  };
}

/** @returns `null` where none has begun. @throws `ERR_STORE_UNAVAILABLE` for a file that cannot be read. */
export function readUnfinished(path: string): UnfinishedRegistration | null {
  const text = readIfThere(path);
  if (text === undefined) return null;
  try {
    const found = parse(text);
    if (found !== undefined) return found;
  } catch {
    // Refused below.
  }
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `${path}: it is damaged, or was written by another version of flywheel.`,
  );
}

/** Keeps it from now on, and what is sent with it. */
export function keepUnfinished(path: string, begun: UnfinishedRegistration): SentRegistration {
  let { sent } = begun;
  const write = (): void =>
    writePrivate(path, `${JSON.stringify({ version: FORMAT_VERSION, ...begun, sent: sentJson(sent) })}\n`);
  write();
  return {
    read: () => sent,
    write: (unit) => {
      sent = unit;
      write();
    },
  };
}

/** Forgets it, once it is done. */
export const forgetUnfinished = (path: string): void => rmSync(path, { force: true });

/** The burn wallet that was made, and not given: somebody may have paid into it. */
const madeFor = (found: UnfinishedRegistration | null): Address | undefined =>
  found?.wanted['burnWallet'] === 'null' ? found.burnWallet : undefined;

/** What has made way for another has left its place to it. */
export const idFor = (found: UnfinishedRegistration | null): string => found?.id ?? randomIds.uuid();

/** What was begun is carried on where it is the same; what has sent nothing yet makes way for another. */
export function begin(
  wanted: Wanted,
  found: UnfinishedRegistration | null,
  keys: Map<Address, Uint8Array>,
): UnfinishedRegistration {
  const texts = wantedTexts(wanted);
  const differs = found === null ? [] : differences(found.wanted, texts);
  if (found !== null && differs.length === 0) return found;
  if (found?.sent != null)
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `A registration has begun here that differs in ${differs.join(', ')}, and what it has sent may have landed.`,
      { hint: 'Run the command that began it, to its end.' },
    );
  const make = (): Address => {
    const keypair = generateKeypair();
    const made = createKeypairSigner(keypair).address;
    keys.set(made, keypair);
    return made;
  };
  return {
    id: idFor(found),
    wanted: texts,
    burnWallet: wanted.burnWallet === null ? (madeFor(found) ?? make()) : address(wanted.burnWallet),
    createKey: wanted.multisig === null ? make() : null,
    sent: null,
  };
}
