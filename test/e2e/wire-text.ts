/** Prints every byte of a transaction as text, decoded with web3.js, plain SPL layouts and the Squads SDK. */
import { inspect } from 'node:util';
import { PublicKey, VersionedTransaction } from '@solana/web3.js';
import * as sqds from '@sqds/multisig';

/** Names for values that differ between runs; other values are printed as they are. */
export interface Roles {
  /** By base58 address, or by a word of a memo. */
  readonly names: ReadonlyMap<string, string>;
  /** The formula of a number, such as `100000 + sequence 1`; `undefined` if it is the same in every run. */
  readonly rule: (field: string, value: bigint) => string | undefined;
}

interface Message {
  readonly keys: readonly string[];
  readonly signers: number;
  readonly writableSigners: number;
  readonly writableOthers: number;
  readonly instructions: readonly [program: number, accounts: readonly number[], data: Buffer][];
}

interface Decoded {
  readonly name: string;
  readonly fields: readonly string[];
  /** In order; accounts beyond the list have no name. */
  readonly accounts: readonly string[];
  readonly inner?: Message;
}

/** By the first bytes of an instruction, in hex: `name field:kind … | account …`. */
type Layouts = Readonly<Record<string, string>>;

const TOKEN: Layouts = {
  '06': 'setAuthority type:u8 newAuthority:option | account authority',
  '0c': 'transferChecked amount:u64 decimals:u8 | from mint to owner',
  '0e': 'mintToChecked amount:u64 decimals:u8 | mint to authority',
  '0f': 'burnChecked amount:u64 decimals:u8 | from mint owner',
  '14': 'initializeMint2 decimals:u8 mintAuthority:key freezeAuthority:option | mint',
};
const SYSTEM: Layouts = {
  '00000000': 'createAccount lamports:u64 space:u64 owner:key | from account',
  '02000000': 'transfer lamports:u64 | from to',
};
const COMPUTE_BUDGET: Layouts = {
  '02': 'setComputeUnitLimit units:u32',
  '03': 'setComputeUnitPrice microLamports:u64',
  '04': 'setLoadedAccountsDataSizeLimit bytes:u32',
};
const ASSOCIATED_TOKEN: Layouts = {
  '01': 'createIdempotent | payer account owner mint systemProgram tokenProgram',
};
const PROGRAMS: Readonly<Record<string, readonly [name: string, layouts: Layouts]>> = {
  '11111111111111111111111111111111': ['System', SYSTEM],
  ComputeBudget111111111111111111111111111111: ['ComputeBudget', COMPUTE_BUDGET],
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: ['AssociatedToken', ASSOCIATED_TOKEN],
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: ['Token', TOKEN],
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: ['Token-2022', TOKEN],
};
const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const NAMES = new Map([
  ...Object.entries(PROGRAMS).map(([address, [name]]) => [address, name] as const),
  [MEMO, 'Memo'],
  [sqds.PROGRAM_ADDRESS, 'Squads'],
  [sqds.getProgramConfigPda({})[0].toBase58(), 'Squads configuration'],
]);

const nameOf = ({ names }: Roles, address: string): string =>
  names.get(address) ?? NAMES.get(address) ?? address;

const unknown = (data: Buffer): Decoded => ({
  name: `unknown ${data.toString('hex')}`,
  fields: [],
  accounts: [],
});

/** Reads fields by layout; bytes after the last field are printed in hex. */
function planInstruction(roles: Roles, layouts: Layouts, data: Buffer): Decoded {
  const [tag, layout] = Object.entries(layouts).find(([tag]) => data.toString('hex').startsWith(tag)) ?? [];
  if (tag === undefined || layout === undefined) return unknown(data);
  const [head = '', accounts = ''] = layout.split(' | ');
  const [name = '', ...kinds] = head.split(' ');
  let rest = data.subarray(tag.length / 2);
  const take = (bytes: number): Buffer => {
    const taken = rest.subarray(0, bytes);
    rest = rest.subarray(bytes);
    return taken;
  };
  const key = (): string => nameOf(roles, new PublicKey(take(32)).toBase58());
  const fields = kinds.map((text) => {
    const [field = '', kind] = text.split(':');
    if (kind === 'key') return `${field} ${key()}`;
    if (kind === 'option') return `${field} ${take(1)[0] === 0 ? 'none' : key()}`;
    const digits = Buffer.from(take(Number(kind?.slice(1)) / 8)).reverse();
    const value = BigInt(`0x${digits.toString('hex')}`);
    return `${field} ${roles.rule(field, value) ?? value}`;
  });
  if (rest.length > 0) fields.push(`further bytes ${rest.toString('hex')}`);
  return { name, fields, accounts: accounts.split(' ').filter((account) => account !== '') };
}

/** SDK exports of an instruction start with its name. */
const generated = sqds.generated as unknown as Readonly<Record<string, unknown>>;
interface Struct {
  deserialize(data: Buffer): [Record<string, unknown>, number];
}
type Builder = (
  accounts: object,
  args?: object,
) => { readonly keys: readonly { readonly pubkey: PublicKey }[] };
const MARK = 'InstructionDiscriminator';

function squadsInstruction(roles: Roles, data: Buffer): Decoded {
  const mark = [...data.subarray(0, 8)].join();
  const known = Object.keys(generated).filter((name) => name.endsWith(MARK));
  const found = known.find((name) => (generated[name] as readonly number[]).join() === mark);
  if (found === undefined) return unknown(data);
  const name = found.slice(0, -MARK.length);
  const [decoded, length] = (generated[`${name}Struct`] as Struct).deserialize(data);
  const { transactionMessage, ...args } = (decoded['args'] ?? {}) as Record<string, unknown>;
  const fields = Object.entries(args).map(([field, value]) => `${field} ${valueText(roles, value)}`);
  if (length < data.length) fields.push(`further bytes ${data.subarray(length).toString('hex')}`);
  const plain = { name, fields, accounts: squadsAccounts(name, decoded) };
  if (transactionMessage === undefined) return plain;
  return { ...plain, inner: vaultMessage(Buffer.from(transactionMessage as Uint8Array)) };
}

/** The SDK builds the instruction with placeholder accounts that record the names it reads. */
function squadsAccounts(name: string, { args }: Record<string, unknown>): readonly string[] {
  const asked = new Map<PublicKey, string>();
  const get = (_target: object, account: string): PublicKey | undefined => {
    if (account === 'anchorRemainingAccounts') return undefined;
    const key = PublicKey.unique();
    asked.set(key, account);
    return key;
  };
  const build = generated[`create${name[0]?.toUpperCase()}${name.slice(1)}Instruction`] as Builder;
  const accounts = new Proxy({}, { get });
  const { keys } = args === undefined ? build(accounts) : build(accounts, { args });
  return keys.map(({ pubkey }) => asked.get(pubkey) ?? '');
}

function valueText(roles: Roles, value: unknown): string {
  if (value === null) return 'none';
  if (value instanceof PublicKey) return nameOf(roles, value.toBase58());
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((each) => valueText(roles, each)).join(', ')}]`;
  if (value.constructor.name === 'BN') return String(value);
  return Object.entries(value)
    .map(([field, each]) => `${field} ${valueText(roles, each)}`)
    .join(' ');
}

function vaultMessage(bytes: Buffer): Message {
  const [message, length] = sqds.types.transactionMessageBeet.deserialize(bytes);
  if (length !== bytes.length || message.addressTableLookups.length > 0)
    throw new TypeError(`A vault message has further bytes or lookups: ${bytes.toString('hex')}`);
  return {
    keys: message.accountKeys.map((key) => key.toBase58()),
    signers: message.numSigners,
    writableSigners: message.numWritableSigners,
    writableOthers: message.numWritableNonSigners,
    instructions: message.instructions.map((each) => [
      each.programIdIndex,
      each.accountIndexes,
      Buffer.from(each.data),
    ]),
  };
}

function memo(roles: Roles, data: Buffer): Decoded {
  const text = data.toString();
  if (!Buffer.from(text).equals(data)) return unknown(data);
  const words = text.split(' ').map((word) => nameOf(roles, word));
  return { name: `memo ${inspect(words.join(' '), { breakLength: Infinity })}`, fields: [], accounts: [] };
}

function decode(roles: Roles, program: string, data: Buffer): Decoded {
  if (program === MEMO) return memo(roles, data);
  if (program === sqds.PROGRAM_ADDRESS) return squadsInstruction(roles, data);
  const [, layouts] = PROGRAMS[program] ?? [];
  return layouts === undefined ? unknown(data) : planInstruction(roles, layouts, data);
}

function messageLines(roles: Roles, message: Message): readonly string[] {
  const { keys, signers, writableSigners, writableOthers } = message;
  const nameAt = (index: number): string => nameOf(roles, keys[index] ?? 'a key that is not there');
  const ends = [0, writableSigners, signers, signers + writableOthers, keys.length];
  const groups = ['signs and is written', 'signs', 'is written', 'is read'].flatMap((rights, group) => {
    const names = keys.slice(ends[group], ends[group + 1]).map((key) => nameOf(roles, key));
    return names.length === 0 ? [] : [`key ${rights}: ${names.join(', ')}`];
  });
  const instructions = message.instructions.flatMap(([program, accounts, data]) => {
    const { name, fields, accounts: names, inner } = decode(roles, keys[program] ?? '', data);
    const rights = (index: number): string => {
      const isWritten = index < signers ? index < writableSigners : index < signers + writableOthers;
      return `${index < signers ? ' signer' : ''}${isWritten ? ' writable' : ''}`;
    };
    return [
      `${nameAt(program)}.${name}${fields.length > 0 ? `: ${fields.join(', ')}` : ''}`,
      ...accounts.map((index, at) => `  ${names[at] ?? 'account'} = ${nameAt(index)}${rights(index)}`),
      ...names.slice(accounts.length).map((missing) => `  ${missing} is missing`),
      ...(inner === undefined
        ? []
        : ['  vault message', ...messageLines(roles, inner).map((line) => `    ${line}`)]),
    ];
  });
  return [...groups, ...instructions];
}

/** @throws if the lines do not show all bytes of the transaction. */
export function transactionText(wire: Uint8Array, roles: Roles): string {
  const transaction = VersionedTransaction.deserialize(wire);
  const { message, signatures } = transaction;
  if (!Buffer.from(transaction.serialize()).equals(wire) || message.addressTableLookups.length > 0)
    throw new TypeError(`It has further bytes or lookups: ${Buffer.from(wire).toString('hex')}`);
  const { numRequiredSignatures, numReadonlySignedAccounts, numReadonlyUnsignedAccounts } = message.header;
  const keys = message.staticAccountKeys.map((key) => key.toBase58());
  const lines = messageLines(roles, {
    keys,
    signers: numRequiredSignatures,
    writableSigners: numRequiredSignatures - numReadonlySignedAccounts,
    writableOthers: keys.length - numRequiredSignatures - numReadonlyUnsignedAccounts,
    instructions: message.compiledInstructions.map((each) => [
      each.programIdIndex,
      each.accountKeyIndexes,
      Buffer.from(each.data),
    ]),
  });
  const signed = signatures.filter((signature) => signature.some((byte) => byte !== 0)).length;
  const payer = nameOf(roles, keys[0] ?? '');
  const head = `version ${message.version}, ${signed} of ${numRequiredSignatures} signatures, fee payer ${payer}`;
  return [head, ...lines.map((line) => `  ${line}`)].join('\n');
}
