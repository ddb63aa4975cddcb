/** Attacks on approvals: not exactly one vote for this batch, or changed by a wallet. */
import {
  ComputeBudgetProgram,
  type MessageV0,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { generated, PROGRAM_ID as SQUADS, instructions as squads } from '@sqds/multisig';
import {
  type Attack,
  attack,
  blockhash,
  burn,
  type Fact,
  type Facts,
  INDEX,
  KEYS,
  key,
  keypair,
  MEMO,
  memo,
  OPERATOR,
  OWNER,
  PLACES,
  transaction,
  vote,
  type World,
} from './world.js';

const { multisig, operator, owner, stranger } = KEYS;
type Instructions = readonly TransactionInstruction[];
const STRANGER = keypair('a stranger with a key');

const reads = (pubkey: PublicKey) => ({ pubkey, isSigner: false, isWritable: false });
const voteOf = (change: object): TransactionInstruction =>
  squads.proposalApprove({ multisigPda: multisig, transactionIndex: INDEX, member: owner, ...change });
const ofBatch = { multisigPda: multisig, transactionIndex: INDEX, member: owner };
const withKeys = (change: (keys: typeof vote.keys) => typeof vote.keys): TransactionInstruction =>
  new TransactionInstruction({ programId: SQUADS, keys: change(vote.keys), data: vote.data });
const withKey = (place: number, pubkey: PublicKey) =>
  withKeys((keys) => keys.map((one, n) => (n === place ? { ...one, pubkey } : one)));
const withData = (...data: readonly Uint8Array[]): TransactionInstruction =>
  new TransactionInstruction({ programId: SQUADS, keys: vote.keys, data: Buffer.concat(data) });
const limitOf = (units: number) => ComputeBudgetProgram.setComputeUnitLimit({ units });
const priceOf = (microLamports: bigint) => ComputeBudgetProgram.setComputeUnitPrice({ microLamports });
const pay = SystemProgram.transfer({ fromPubkey: owner, toPubkey: stranger, lamports: 1 });
const heap = ComputeBudgetProgram.requestHeapFrame({ bytes: 262_144 });
const nonce = SystemProgram.nonceAdvance({ noncePubkey: stranger, authorizedPubkey: owner });
const [, batchAt, proposalAt, firstAt] = PLACES.map(([, place]) => new PublicKey(place)) as [
  ...[PublicKey, PublicKey, PublicKey, PublicKey],
];
const execute = generated.createBatchExecuteTransactionInstruction({
  ...{ multisig, member: owner, proposal: proposalAt, batch: batchAt, transaction: firstAt },
});

const made = (
  name: string,
  facts: Facts,
  instructions: Instructions | ((world: World) => Instructions),
  payer = OPERATOR,
): Attack =>
  attack(`approval: ${name}`, facts, (world) => {
    const all = typeof instructions === 'function' ? instructions(world) : instructions;
    world.wire = transaction([...all], payer.publicKey, payer === OWNER ? [] : [payer]);
  });

const bytes = (name: string, facts: Facts, change: (wire: Buffer) => Uint8Array): Attack =>
  attack(`approval: ${name}`, facts, (world) => {
    world.wire = change(Buffer.from(world.wire));
  });
const flipped = (place: number) => (wire: Buffer) => {
  wire[place] = (wire[place] ?? 0) ^ 1;
  return wire;
};

/** Message bytes with this many empty signatures. */
const unsigned = (message: Uint8Array, places: number): Buffer =>
  Buffer.concat([Buffer.of(places), Buffer.alloc(64 * places), message]);
const message = (name: string, facts: Facts, change: (message: MessageV0) => unknown, places = 2): Attack =>
  bytes(name, facts, (wire) => {
    const decoded = VersionedTransaction.deserialize(wire).message as MessageV0;
    change(decoded);
    return unsigned(decoded.serialize(), places);
  });

// biome-ignore format: one row an attack
export const VOTE_ATTACKS: readonly Attack[] = [
  made('of another multisig', ['multisig', key('another')], [voteOf({ multisigPda: key('another') })]),
  made('of the next batch', ['proposal', proposalAt], [voteOf({ transactionIndex: INDEX + 1n })]),
  made('of the batch before', ['proposal', proposalAt], [voteOf({ transactionIndex: INDEX - 1n })]),
  made('for no proposal', ['proposal', stranger], [withKey(2, stranger)]),
  made('by the operator', ['member', owner], [voteOf({ member: operator })]),
  made('by a stranger', ['member', owner], [voteOf({ member: stranger })]),
  made('a rejection', ['proposalReject', 'proposalApprove'], [squads.proposalReject(ofBatch)]),
  made('a cancellation', ['proposalCancelV2', 'proposalApprove'], [squads.proposalCancelV2(ofBatch)]),
  made('an activation', ['proposalActivate', 'proposalApprove'], [squads.proposalActivate(ofBatch)]),
  made('an execution', ['batchExecuteTransaction', 'proposalApprove'], [execute]),
  made('of no name', ['unknown', 'proposalApprove'], [withData(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 0))]),
  made('of a rejection in its data', 'proposalReject', [withData(squads.proposalReject(ofBatch).data)]),
  made('twice', '2 Squads', [vote, vote]),
  made('of two batches', '2 Squads', [vote, voteOf({ transactionIndex: 8n })]),
  made('without a vote', '0 Squads', [limitOf(1_000)], OWNER),
  made('with a transfer of SOL behind', SystemProgram.programId, [vote, pay]),
  made('with a transfer of SOL before', SystemProgram.programId, [pay, vote]),
  made('that never expires', 'nonce', [nonce, vote]),
  made('with a memo', MEMO, [vote, memo('x', [owner])]),
  made('with a burn', 'Token', ({ token }) => [vote, burn({ ...token, vault: owner }, 1n)]),
  made('of another program', stranger, [vote, new TransactionInstruction({ programId: stranger, keys: vote.keys, data: vote.data })]),
  made('with a larger heap', 'compute', [heap, vote]),
  made('with what looks like a price', stranger, [new TransactionInstruction({ ...priceOf(0n), programId: stranger }), vote]),
  made('with a limit with a byte behind it', 'compute', [new TransactionInstruction({ ...limitOf(1), data: Buffer.concat([limitOf(1).data, Buffer.of(0)]) }), vote]),
  made('with a draining fee', ['14000000000', '10000000'], [limitOf(1_400_000), priceOf(10n ** 10n), vote]),
  made('with a price and no limit', ['11200000', '10000000'], [priceOf(8_000_000n), vote]),
  made('with the largest price', '10000000', [priceOf(2n ** 64n - 1n), vote]),
  made('with a fee of one lamport too much', ['10000001', '10000000'], [limitOf(50_000), priceOf(200_000_001n), vote]),
  made('with a price twice', 'twice', [priceOf(1n), priceOf(1n), vote]),
  made('with a limit twice', 'twice', [limitOf(1), limitOf(1), vote]),
  made('with a limit that names an account', 'compute', [new TransactionInstruction({ ...limitOf(1), keys: [reads(multisig)] }), vote]),
  made('that a stranger pays', ['paid', STRANGER.publicKey, operator], [vote], STRANGER),
  made('that a stranger signs too', ['4', '3', 'accounts'], [withKeys((keys) => [...keys, { ...reads(stranger), isSigner: true }])]),
  made('with an account more', ['4', '3', 'accounts'], [withKeys((keys) => [...keys, reads(stranger)])]),
  made('with an account less', ['2', '3', 'accounts'], [withKeys((keys) => keys.slice(0, 2))]),
  made('with accounts in another order', ['multisig', proposalAt], [withKeys((keys) => [...keys].reverse())]),
  made('with data behind it', 'proposalApprove', [withData(vote.data, Buffer.of(0))]),
  made('with a memo inside', 'proposalApprove', [voteOf({ memo: 'hidden' })]),
  made('with data that is cut', 'proposalApprove', [withData(vote.data.subarray(0, 8))]),
  made('that could write to the multisig', ['writ', multisig], [withKeys((keys) => keys.map((one, n) => (n === 0 ? { ...one, isWritable: true } : one)))]),
  made('that could not write to the proposal', ['writ', proposalAt], [withKeys((keys) => keys.map((one, n) => (n === 2 ? { ...one, isWritable: false } : one)))]),
  bytes('with trailing bytes', 'bytes', (wire) => Buffer.concat([wire, Buffer.of(0)])),
  ...[1, 40, 150].map((length) => bytes(`cut to ${length} bytes`, 'bytes', (wire) => wire.subarray(0, length))),
  bytes('cut by one byte', 'bytes', (wire) => wire.subarray(0, -1)),
  bytes('of no bytes', 'bytes', () => Uint8Array.of()),
  bytes('of an unknown version', 'version 1', (wire) => {
    wire[1 + 2 * 64] = 0x81;
    return wire;
  }),
  bytes('with a length that is not minimal', 'form', (wire) => Buffer.concat([Buffer.of(0x82, 0), wire.subarray(1)])),
  bytes('longer than a packet', ['bytes', '1232'], (wire) => Buffer.concat([wire, Buffer.alloc(1_300)])),
  bytes('with a forged signature of the operator', ['signature', operator], flipped(5)),
  bytes('with a forged signature of the owner', ['signature', owner], flipped(70)),
  // A byte of the blockhash, which is the only part that cannot be predicted.
  bytes('that was changed after the operator signed', ['signature', operator], (wire) => flipped(wire.indexOf(new PublicKey(blockhash).toBuffer()))(wire)),
  message('with a lookup table', 'lookup table', ({ addressTableLookups }) =>
    addressTableLookups.push({ accountKey: stranger, writableIndexes: [0], readonlyIndexes: [] }),
  ),
  message('with a key twice', 'twice', ({ staticAccountKeys: keys }) => keys.push(keys[0] as PublicKey)),
  message('with a key that nothing needs', stranger, ({ staticAccountKeys, header }) => {
    staticAccountKeys.push(stranger);
    header.numReadonlyUnsignedAccounts += 1;
  }),
  message(
    'that a stranger must sign',
    stranger,
    ({ staticAccountKeys, header, compiledInstructions }) => {
      staticAccountKeys.splice(2, 0, stranger);
      header.numRequiredSignatures += 1;
      header.numReadonlySignedAccounts += 1;
      for (const one of compiledInstructions) {
        one.programIdIndex += 1;
        one.accountKeyIndexes = one.accountKeyIndexes.map((index) => (index < 2 ? index : index + 1));
      }
    },
    3,
  ),
  message('with fewer signatures asked for', ['2', '1', 'signatures'], ({ header }) => {
    header.numRequiredSignatures = 1;
    header.numReadonlySignedAccounts = 0;
  }),
  message('with a place for a signature less', ['1', '2', 'signatures'], () => undefined, 1),
  ...(
    [
      ['more signers than keys', 'numRequiredSignatures', 200],
      ['no signers', 'numRequiredSignatures', 0],
      ['a payer who cannot be written', 'numReadonlySignedAccounts', 2],
      ['more read-only signers than signers', 'numReadonlySignedAccounts', 9],
      ['more read-only others than there are', 'numReadonlyUnsignedAccounts', 99],
    ] as const
  ).map(([name, field, count]) =>
    message(`with ${name}`, 'header', ({ header }) => {
      header[field] = count;
    }),
  ),
  message('that lets everything be written', ['writ', SQUADS], ({ header }) => {
    header.numReadonlyUnsignedAccounts = 0;
  }),
  message('by the operator, while the owner signs', ['member', operator], ({ compiledInstructions: [one] }) => one?.accountKeyIndexes.splice(1, 1, 0)),
  message('without instructions', '0 Squads', ({ compiledInstructions }) => compiledInstructions.splice(0)),
  message('that names an account beyond its list', 'account', ({ compiledInstructions: [one] }) => one?.accountKeyIndexes.splice(2, 1, 200)),
  message('for a program beyond its list', 'account', ({ compiledInstructions: [one] }) => Object.assign(one ?? {}, { programIdIndex: 200 })),
  message('of a program that only looks like Squads', key('SQDS4'), ({ staticAccountKeys: keys }) =>
    keys.splice(
      keys.findIndex((one) => one.equals(SQUADS)),
      1,
      key('SQDS4'),
    ),
  ),
];

/** Valid approvals that differ from the issued ones: payer, fee, legacy or not. */
type Fair = readonly [name: string, wire: Uint8Array, payer: PublicKey, fee: bigint, version: 'legacy' | 0];
const legacy = (instructions: Instructions, payerKey: PublicKey): Buffer =>
  unsigned(
    new TransactionMessage({ payerKey, recentBlockhash: blockhash, instructions: [...instructions] })
      .compileToLegacyMessage()
      .serialize(),
    payerKey === owner ? 1 : 2,
  );
// biome-ignore format: one row a vote
export const FAIR_VOTES: readonly Fair[] = [
  ['that the operator pays', transaction([vote], operator, [OPERATOR]), operator, 0n, 0],
  ['that the owner pays', transaction([vote], owner, []), owner, 0n, 0],
  ['of the older form', legacy([vote], owner), owner, 0n, 'legacy'],
  ['of the older form with a price', legacy([priceOf(1_000n), vote], operator), operator, 1_400n, 'legacy'],
  ['with the highest fee', transaction([limitOf(50_000), priceOf(200_000_000n), vote], operator, []), operator, 10_000_000n, 0],
];

/** The program with which wallets assert what they have shown (github.com/Jac0xb/lighthouse). */
const LIGHTHOUSE = new PublicKey('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');
const lighthouse = (number: number, ...keys: readonly PublicKey[]): TransactionInstruction =>
  new TransactionInstruction({
    ...{ programId: LIGHTHOUSE, keys: keys.map(reads), data: Buffer.from([number, 0, 0, 1, 2, 3, 4]) },
  });
const watched = key('token account');
const assertion = lighthouse(5, watched);
/** A transaction to which a wallet added these instructions before it signed. */
const signed = (instructions: Instructions, hash = blockhash): Uint8Array =>
  transaction([...instructions], owner, [OWNER], hash);
const budget = [limitOf(80_000), priceOf(50_000n)];

type FairWallet = readonly [name: string, wire: Uint8Array, fee: bigint, assertions: readonly string[]];
// biome-ignore format: one row a vote
export const FAIR_WALLETS: readonly FairWallet[] = [
  ['nothing', signed([vote]), 0n, []],
  ['a limit and a price of compute units', signed([...budget, vote]), 4_000n, []],
  ['a price alone', signed([priceOf(1n), vote]), 2n, []],
  ['an assertion before', signed([assertion, vote]), 0n, ['AssertAccountInfo']],
  ['assertions after, of the owner too', signed([vote, assertion, lighthouse(5, owner)]), 0n, ['AssertAccountInfo', 'AssertAccountInfo']],
  ['all of them', signed([...budget, vote, assertion]), 4_000n, ['AssertAccountInfo']],
  ['an assertion on the clock', signed([vote, lighthouse(15)]), 0n, ['AssertSysvarClock']],
  ['an assertion on two accounts', signed([vote, lighthouse(4, watched, multisig)]), 0n, ['AssertAccountDelta']],
];

const swapped = Buffer.concat([signed([vote, assertion]).subarray(0, 65), signed([vote]).subarray(65)]);
const writing = new TransactionInstruction({ ...assertion, keys: [{ ...reads(watched), isWritable: true }] });

type WalletAttack = readonly [name: string, facts: readonly Fact[], wire: Uint8Array];
// biome-ignore format: one row a vote
export const WALLET_ATTACKS: readonly WalletAttack[] = [
  ['a transfer of SOL', [SystemProgram.programId], signed([vote, pay])],
  ['a memo', [MEMO], signed([vote, memo('hello', [])])],
  ['a fee that drains the payer', ['1400000000', '10000000'], signed([limitOf(1_400_000), priceOf(10n ** 9n), vote])],
  ['a price twice', ['twice'], signed([priceOf(1n), priceOf(1n), vote])],
  ['another compute-budget instruction', ['compute'], signed([heap, vote])],
  ['a write of Lighthouse', ['MemoryWrite'], signed([vote, lighthouse(0, watched)])],
  ['a closing of Lighthouse', ['MemoryClose'], signed([vote, lighthouse(1, watched)])],
  ['a call of Lighthouse', ['AssertMerkleTreeAccount'], signed([vote, lighthouse(16, watched, multisig, stranger)])],
  ['what Lighthouse does not know', ['unknown'], signed([vote, lighthouse(18, watched)])],
  ['an assertion with too many accounts', ['Lighthouse'], signed([vote, lighthouse(5, watched, multisig)])],
  ['an account that could be written to', ['writ', watched], signed([vote, writing])],
  ['another blockhash', ['blockhash', key('other').toBase58()], signed([vote], key('other').toBase58())],
  ['another batch', ['proposal', proposalAt], signed([voteOf({ transactionIndex: 8n })])],
  ['a second vote', ['2 Squads'], signed([vote, vote])],
  ['no vote', ['0 Squads'], signed(budget)],
  ['another payer', ['paid', STRANGER.publicKey], transaction([vote], STRANGER.publicKey, [STRANGER, OWNER])],
  ['the older form of a message', ['version 0'], olderForm()],
  ['no signature', ['signed', owner], transaction([vote], owner, [])],
  ['the signature of something else', ['signature', owner], swapped],
  ['bytes that are no transaction', ['not a transaction'], Uint8Array.of(1, 2, 3)],
];

function olderForm(): Uint8Array {
  const made = VersionedTransaction.deserialize(legacy([vote], owner));
  made.sign([OWNER]);
  return made.serialize();
}
