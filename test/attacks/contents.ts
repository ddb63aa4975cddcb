/** Attacks on batch contents: transactions that differ from the sent pipelines, or are no pipelines. */
import * as spl from '@solana/spl-token';
import { type PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import { getEphemeralSignerPda } from '@sqds/multisig';
import {
  type Action,
  type Attack,
  accountOf,
  attack,
  burn,
  compiled,
  create,
  type Fact,
  type Facts,
  FILE,
  hashOf,
  KEYS,
  key,
  MEMO,
  type Message,
  memo,
  type Pipeline,
  PROGRAMS,
  proof,
  type State,
  type Token,
  transfer,
} from './world.js';

const { alice, bob, mint, stranger, vault } = KEYS;
type Other = readonly [name: string, facts: Facts, shown: readonly Pipeline[]];

const [first, second, third] = FILE as readonly [Pipeline, Pipeline, Pipeline];
const withActions = (place: number, change: (actions: readonly Action[]) => readonly Action[]) =>
  FILE.map((one, n) => (n === place ? { ...one, actions: change(one.actions) } : one));
const withAction = (place: number, number: number, action: Action) =>
  withActions(place, (actions) => actions.map((old, n) => (n === number ? action : old)));
const burned = (amount: number): Action => ({ action: 'BURN', amount });
const sent = (to: PublicKey, amount: number): Action => ({
  action: 'AIRDROP',
  toAddress: to.toBase58(),
  amount,
});
const allOther = (amount: number): readonly Pipeline[] =>
  Array.from({ length: 3 }, (_, n) => ({ type: 'T', payload: { n }, actions: [burned(amount)] }));

/** Other pipelines than the sent ones; all are executable. */
// biome-ignore format: one row an attack
const OTHER: readonly Other[] = [
  ...[1.500001, 1.499999, 15, 150_000, 1_500_000].map((amount): Other => [`burns ${amount} for 1.5`, ['pipelines[0].actions[0]', String(amount), '1.5'], withAction(0, 0, burned(amount))]),
  ...[2.000001, 20, 1_999_999].map((amount): Other => [`sends alice ${amount} for 2`, ['pipelines[1].actions[0]', String(amount), alice], withAction(1, 0, sent(alice, amount))]),
  ...[stranger, bob, key('a look-alike')].map((to): Other => [`sends to ${to} what is alice's`, ['pipelines[1].actions[0]', to, alice], withAction(1, 0, sent(to, 2))]),
  ['sends what should be burned', ['pipelines[0].actions[0]', stranger], withAction(0, 0, sent(stranger, 1.5))],
  ['burns what should be sent', ['pipelines[1].actions[0]', alice], withAction(1, 0, burned(2))],
  ['writes a memo for a burn', ['pipelines[0].actions[0]', '"1.5"'], withAction(0, 0, { action: 'MEMO', message: '1.5' })],
  ['writes another memo', ['pipelines[1].actions[1]', '"no thanks"'], withAction(1, 1, { action: 'MEMO', message: 'no thanks' })],
  ['states the hash of another proof', ['pipelines[0]', hashOf('{"x":1}'), hashOf('{"orderId":"A-1"}')], [{ ...first, payload: { x: 1 } }, second, third]],
  ['swaps two hashes', ['pipelines[0]', 'pipelines[2]', hashOf('{"orderId":"A-2"}')], [{ ...first, payload: third.payload }, second, { ...third, payload: first.payload }]],
  ['states another type', ['pipelines[0].type', '"WATCH_ADS"'], [{ ...first, type: 'WATCH_ADS' }, second, third]],
  ['reverses the order', ['pipelines[0]', 'pipelines[2]'], [third, second, first]],
  ['swaps the first two', ['pipelines[0].type', '"WATCH_AD"'], [second, first, third]],
  ['does one twice', ['4', '3'], [...FILE, first]],
  ['leaves the last out', ['2', '3'], [first, second]],
  ['leaves the first out', ['pipelines[0].type', '"WATCH_AD"'], [second, third]],
  ['does another one first', ['pipelines[0].type', '"X"'], [{ type: 'X', payload: { x: 1 }, actions: [burned(999)] }, ...FILE]],
  ['does one action twice', ['pipelines[0].actions[1]', '1.5'], withActions(0, (all) => [...all, ...all])],
  ['adds a memo', ['pipelines[0].actions[1]', '"more"'], withActions(0, (all) => [...all, { action: 'MEMO', message: 'more' }])],
  ['leaves an action out', 'pipelines[1].actions[2]', withActions(1, (all) => all.slice(0, 2))],
  ['leaves the only action out', ['pipelines[0].actions[0]', '1.5'], withActions(0, () => [])],
  ['swaps two actions', 'pipelines[1].actions[0]', withActions(1, (all) => [...all].reverse())],
  ['adds an airdrop', ['pipelines[2].actions[1]', '5000000', stranger], withActions(2, (all) => [...all, sent(stranger, 5_000_000)])],
  ['differs in everything', ['pipelines[0].type', '"T"', '"PRODUCT_BUY"'], allOther(2)],
];

const altered = (
  { programId, keys, data }: TransactionInstruction,
  change: { keys?: TransactionInstruction['keys']; data?: readonly number[]; programId?: PublicKey },
): TransactionInstruction =>
  new TransactionInstruction({ programId, keys, ...change, data: Buffer.from(change.data ?? data) });
const reads = (pubkey: PublicKey) => ({ pubkey, isSigner: false, isWritable: false });
const withKey = (instruction: TransactionInstruction, place: number, pubkey: PublicKey) =>
  altered(instruction, { keys: instruction.keys.map((one, n) => (n === place ? { ...one, pubkey } : one)) });
const otherMint = key('other mint');
const otherProgram = ({ program }: Token): PublicKey =>
  program === PROGRAMS.token ? PROGRAMS['token-2022'] : PROGRAMS.token;
const toStranger = (token: Token): TransactionInstruction => transfer(token, accountOf(token, stranger), 1n);
/** A prefix of both token programs' names, for facts that depend on the program. */
const TOKEN_PROGRAM = 'Token';

type Foreign = readonly [name: string, facts: Facts, make: (token: Token) => TransactionInstruction];
// biome-ignore format: one row an attack
const FOREIGN: readonly Foreign[] = [
  ['sends SOL', SystemProgram.programId, () => SystemProgram.transfer({ fromPubkey: vault, toPubkey: stranger, lamports: 1 })],
  ['makes an account', ['signature', stranger], () => SystemProgram.createAccount({ fromPubkey: vault, newAccountPubkey: stranger, lamports: 1, space: 0, programId: vault })],
  ['calls an unknown program', key('a program'), () => new TransactionInstruction({ programId: key('a program'), keys: [] })],
  ['burns unchecked', 'Burn (unchecked)', ({ account, program }) => spl.createBurnInstruction(account, mint, vault, 1, [], program)],
  ['transfers unchecked', 'Transfer (unchecked)', ({ account, program }) => spl.createTransferInstruction(account, stranger, vault, 1, [], program)],
  ['delegates', 'Approve', ({ account, program }) => spl.createApproveInstruction(account, stranger, vault, 1, [], program)],
  ['closes the account', 'CloseAccount', ({ account, program }) => spl.createCloseAccountInstruction(account, stranger, vault, [], program)],
  ['gives the account away', 'SetAuthority', ({ account, program }) => spl.createSetAuthorityInstruction(account, vault, spl.AuthorityType.AccountOwner, stranger, [], program)],
  ['lets somebody close the account', 'SetAuthority', ({ account, program }) => spl.createSetAuthorityInstruction(account, vault, spl.AuthorityType.CloseAccount, stranger, [], program)],
  ['gives away the mint', 'SetAuthority', ({ program }) => spl.createSetAuthorityInstruction(mint, vault, spl.AuthorityType.MintTokens, stranger, [], program)],
  ['mints', 'MintToChecked', ({ program }) => spl.createMintToCheckedInstruction(mint, stranger, vault, 1, 6, [], program)],
  ['is a token instruction without data', 'without data', (token) => altered(burn(token, 1n), { data: [] })],
  ['is a token instruction that nobody knows', '255', (token) => altered(burn(token, 1n), { data: [255] })],
  ['burns with a byte more', '11 bytes', (token) => altered(burn(token, 1n), { data: [...burn(token, 1n).data, 0] })],
  ['burns with another signer', '4 accounts', (token) => altered(burn(token, 1n), { keys: [...burn(token, 1n).keys, { ...reads(vault), isSigner: true }] })],
  ['burns of another mint', ['instruction', otherMint], (token) => burn({ ...token, mint: otherMint }, 1n)],
  ['burns from another account', ['instruction', key('an account')], (token) => burn({ ...token, account: key('an account') }, 1n)],
  ['burns of another owner', ['signature', stranger], (token) => burn({ ...token, vault: stranger }, 1n)],
  ['burns of an owner who need not sign', ['instruction', stranger, vault], (token) => altered(burn(token, 1n), { keys: burn(token, 1n).keys.map((one, n) => (n === 2 ? reads(stranger) : one)) })],
  ['burns in the other token program', ['token program', TOKEN_PROGRAM], (token) => burn({ ...token, program: otherProgram(token) }, 1n)],
  ['burns with other decimals', ['9 decimals', '6'], (token) => burn({ ...token, decimals: 9 }, 1n)],
  ['transfers with accounts of a hook', '5 accounts', (token) => altered(toStranger(token), { keys: [...toStranger(token).keys, reads(vault)] })],
  ['transfers of another mint', ['instruction', otherMint], (token) => transfer({ ...token, mint: otherMint }, stranger, 1n)],
  ['transfers from another account', ['instruction', key('an account')], (token) => transfer({ ...token, account: key('an account') }, stranger, 1n)],
  ['transfers with other decimals', ['5 decimals', '6'], (token) => transfer({ ...token, decimals: 5 }, stranger, 1n)],
  ['transfers without saying to whom', stranger, (token) => transfer(token, stranger, 1n)],
  ['opens an account and sends nothing', stranger, (token) => create(token, stranger)],
  ['opens an account of another mint', ['instruction', otherMint], (token) => create({ ...token, mint: otherMint }, stranger)],
  ['opens an account of the other token program', ['token program', TOKEN_PROGRAM], (token) => create({ ...token, program: otherProgram(token) }, stranger)],
  ['opens an account that another pays', ['signature', stranger], (token) => withKey(create(token, bob), 0, stranger)],
  ['opens an account that fails where there is one', 'idempotent', (token) => spl.createAssociatedTokenAccountInstruction(...([vault, accountOf(token, stranger), stranger, mint, token.program] as const))],
  ['opens an account with an account more', '7 accounts', (token) => altered(create(token, stranger), { keys: [...create(token, stranger).keys, reads(stranger)] })],
  ['opens an account at another address', [stranger, 'associated'], (token) => withKey(create(token, stranger), 1, token.account)],
  ['opens an account with another system', 'programs', (token) => withKey(create(token, stranger), 4, MEMO)],
  ['opens an account with another token program', 'programs', (token) => withKey(create(token, stranger), 5, MEMO)],
  ['asks a stranger to sign a memo', ['signature', stranger], () => memo('x', [stranger])],
  ['names a stranger who need not sign a memo', stranger, () => altered(memo('x', []), { keys: [reads(stranger)] })],
  ['asks an address of the program to sign', 'signature', () => memo('x', [getEphemeralSignerPda({ transactionPda: alice, ephemeralSignerIndex: 0 })[0]])],
  ['writes a memo that nobody signs', ['signed', 'vault'], () => memo('x', [])],
  ['writes a memo that is no text', 'UTF-8', () => memo(Buffer.from([0xff, 0xfe]), [vault])],
];

const WHOLE: readonly Attack[] = [
  attack('batch: holds nothing', 'no transaction', (world) => {
    world.instructions = [];
  }),
  attack('batch: states two numbers of decimals', 'decimals', (world) => {
    const token = { ...world.token, decimals: 9 };
    world.instructions = compiled(FILE, token);
  }),
];

/** The second transaction in another order. Its instructions: proof, account, transfer, memo, account, transfer. */
const ordered = (name: string, facts: Facts, ...places: readonly number[]): Attack =>
  attack(`order: ${name}`, facts, (world) => {
    const all = world.instructions[1] ?? [];
    world.instructions[1] = places.map((one) => all[one] as TransactionInstruction);
  });
const proven = (name: string, make: (hash: string) => TransactionInstruction): Attack =>
  attack(`proof: ${name}`, ['Transaction 1', 'proof'], (world) => {
    world.instructions[0]?.splice(0, 1, make(hashOf('{"orderId":"A-1"}')));
  });

const PROOFS: readonly Attack[] = [
  ordered('a transfer beside the account that is opened', alice, 0, 1, 5, 3, 4, 2),
  ordered('a transfer whose account nobody opens', 'Transaction 2', 0, 1, 2, 3, 5),
  ordered('an account that is opened last', bob, 0, 1, 2, 3, 4),
  ordered('no proof', ['Transaction 2', 'proof'], 1, 2, 3, 4, 5),
  proven('that nobody signs', (hash) => altered(proof('PRODUCT_BUY', hash), { keys: [] })),
  proven('with more in it', (hash) => memo(`{"type":"PRODUCT_BUY","hash":"${hash}","x":1}`, [vault])),
  proven('with spaces', (hash) => memo(`{"type": "PRODUCT_BUY","hash":"${hash}"}`, [vault])),
  proven('with its parts exchanged', (hash) => memo(`{"hash":"${hash}","type":"PRODUCT_BUY"}`, [vault])),
  proven('with a hash that is none', () => proof('PRODUCT_BUY', 'abc')),
  proven('with a hash in capitals', (hash) => proof('PRODUCT_BUY', hash.toUpperCase())),
  proven('of a number', (hash) => memo(`{"type":1,"hash":"${hash}"}`, [vault])),
  proven('that is null', () => memo('null', [vault])),
];

const storing = (name: string, facts: Facts, change: (one: State['transactions'][number]) => unknown) =>
  [0, 1, 2].map((place) =>
    attack(`message ${place + 1}: ${name}`, [facts].flat(), (world) => {
      world.state = ({ transactions }) => change(transactions[place] as State['transactions'][number]);
    }),
  );
const stored = (name: string, facts: Facts, change: (message: Message) => Partial<Message>) =>
  storing(name, facts, (one) => Object.assign(one.message, change(one.message)));

// biome-ignore format: one row an attack
const MESSAGES: readonly Attack[] = [
  ...stored('lets a read-only account be written', 'written', ({ numWritableNonSigners: count }) => ({ numWritableNonSigners: count + 1 })),
  ...stored('lets nothing be written', 'written', () => ({ numWritableNonSigners: 0 })),
  ...stored('only reads the vault', [vault, 'written'], () => ({ numWritableSigners: 0 })),
  ...stored('asks another account to sign', 'signature', ({ numSigners }) => ({ numSigners: numSigners + 1 })),
  ...stored('asks nobody to sign', [vault, 'signs'], ({ numWritableNonSigners: count }) => ({
    ...{ numSigners: 0, numWritableSigners: 0, numWritableNonSigners: count + 1 },
  })),
  ...stored('names an account more', `account ${stranger}`, ({ accountKeys }) => ({ accountKeys: [...accountKeys, stranger] })),
  ...stored('names an account twice', 'twice', ({ accountKeys }) => ({ accountKeys: [...accountKeys, accountKeys.at(-1) as PublicKey] })),
  ...stored('takes accounts from a table', 'lookup table', () => ({
    addressTableLookups: [
      { accountKey: stranger, writableIndexes: Uint8Array.of(0), readonlyIndexes: new Uint8Array() },
    ],
  })),
  ...stored('names a program beyond its list', 'malformed', ({ instructions }) => ({ instructions: instructions.map((one) => ({ ...one, programIdIndex: 200 })) })),
  ...stored('names an account beyond its list', 'malformed', ({ instructions }) => ({
    instructions: instructions.map((one) => ({ ...one, accountIndexes: Uint8Array.of(200) })),
  })),
  ...stored('has no instruction', 'nothing', () => ({ instructions: [] })),
  ...stored('begins with its action', 'proof', ({ instructions }) => ({ instructions: [...instructions].reverse() })),
  ...stored('states more signers than keys', 'malformed', () => ({ numSigners: 99 })),
  ...storing('uses a signer of the program', 'ephemeral', (one) => Object.assign(one, { ephemeralSignerBumps: Uint8Array.of(255) })),
  ...storing('states another bump', 'bump', (one) => Object.assign(one, { bump: 1 })),
];

const instead =
  (place: number, change: (one: TransactionInstruction, all: Parts) => TransactionInstruction) =>
  (all: Parts) =>
    all.map((one, n) => (n === place ? change(one, all) : one));
type Parts = readonly TransactionInstruction[];
const dataOf = (place: number) => (one: TransactionInstruction, all: Parts) =>
  altered(one, { data: [...(all[place]?.data ?? [])] });
/** Content that a pipeline's message must not have, by instruction: proof, account, transfer, memo, account, transfer. */
// biome-ignore format: one row a message
export const OTHER_PARTS: readonly (readonly [name: string, facts: readonly Fact[], change: (all: Parts) => Parts])[] = [
  ['a byte more in its proof', ['instruction 1'], instead(0, (one) => altered(one, { data: [...one.data, 0x20] }))],
  ['the amount of the other transfer', ['instruction 3'], instead(2, dataOf(5))],
  ['the recipient of the other transfer', ['instruction 3'], instead(2, (one, all) => altered(one, { keys: all[5]?.keys ?? [] }))],
  ['other letters in its memo', ['instruction 4'], instead(3, (one) => altered(one, { data: [...one.data].fill(0x61) }))],
  ['a memo that nobody signs', ['instruction 4'], instead(3, (one) => altered(one, { keys: [] }))],
  ['another amount at its end', ['instruction 6'], instead(5, (one) => altered(one, { data: [one.data[0] ?? 0, 9, ...one.data.subarray(2)] }))],
  ['no memo', ['5', '6'], (all) => all.filter((_, n) => n !== 3)],
  ['no account of bob', [accountOf({ mint, program: PROGRAMS.token }, bob)], (all) => all.slice(0, 4)],
  ['an account of a stranger', [`account ${stranger}`], (all) => [...all, altered(memo('x', []), { keys: [reads(stranger)] })]],
];

export const CONTENT_ATTACKS: readonly Attack[] = [
  ...OTHER.map(([name, facts, shown]) => ({
    ...attack(`content: ${name}`, facts, (world) => {
      world.instructions = compiled(shown, world.token);
    }),
    shown,
  })),
  // Appended to each transaction in turn.
  ...FOREIGN.flatMap(([name, facts, make]) =>
    [0, 1, 2].map((place) =>
      attack(
        `transaction ${place + 1}: ${name}`,
        [`Transaction ${place + 1}`, ...[facts].flat()],
        (world) => {
          world.instructions[place]?.push(make(world.token));
        },
      ),
    ),
  ),
  ...[...WHOLE, ...PROOFS, ...MESSAGES],
];
