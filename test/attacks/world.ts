/** An honest batch, its approval and its project, built with independent libraries. An attack changes one thing. */
import { createHash } from 'node:crypto';
import * as spl from '@solana/spl-token';
import {
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import * as sqds from '@sqds/multisig';
import {
  type MintParts as Mint,
  mintData,
  type TokenAccountParts,
  tokenAccountData,
} from '../support/token-accounts.js';

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
export const hashOf = (text: string): string => sha256(text).toString('hex');
export const key = (name: string): PublicKey => new PublicKey(sha256(name));
export const keypair = (name: string): Keypair => Keypair.fromSeed(sha256(name));

export const MEMO = new PublicKey('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
export const [OWNER, OPERATOR] = [keypair('owner'), keypair('operator')];
export const [owner, operator] = [OWNER.publicKey, OPERATOR.publicKey];
export const [mint, stranger, alice, bob] = [key('mint'), key('stranger'), key('alice'), key('bob')];
export const blockhash = key('blockhash').toBase58();
export const INDEX = 7n;
const createKey = key('create key');
const [multisigPda, multisigBump] = sqds.getMultisigPda({ createKey });
const multisig = multisigPda;
const [vaultAt, vaultBump] = sqds.getVaultPda({ multisigPda, index: 0 });
export const vault = vaultAt;
const ofBatch = { multisigPda, transactionIndex: INDEX };
const [batchAt, batchBump] = sqds.getTransactionPda({ multisigPda, index: INDEX });
const [proposalAt, proposalBump] = sqds.getProposalPda(ofBatch);
const transactions: (readonly [PublicKey, number])[] = [];
function transactionAt(at: number): readonly [PublicKey, number] {
  transactions[at] ??= sqds.getBatchTransactionPda({
    ...{ multisigPda, batchIndex: INDEX, transactionIndex: at + 1 },
  });
  return transactions[at];
}

export const KEYS = { owner, operator, mint, stranger, alice, bob, vault, multisig } as const;

export const PROGRAMS = { token: spl.TOKEN_PROGRAM_ID, 'token-2022': spl.TOKEN_2022_PROGRAM_ID } as const;
export type TokenKind = keyof typeof PROGRAMS;
export const KINDS = Object.keys(PROGRAMS) as readonly TokenKind[];

/** Amounts in whole tokens, as the owner writes them. */
export type Action =
  | { readonly action: 'BURN'; readonly amount: number }
  | { readonly action: 'AIRDROP'; readonly toAddress: string; readonly amount: number }
  | { readonly action: 'MEMO'; readonly message: string };
export interface Pipeline {
  readonly type: string;
  readonly payload: object;
  readonly actions: readonly Action[];
}
const airdrop = (to: PublicKey, amount: number): Action => ({
  ...{ action: 'AIRDROP', toAddress: to.toBase58(), amount },
});

/** The owner's file: burns 12,345,679.5 tokens and sends 2.000001. */
export const FILE: readonly Pipeline[] = [
  { type: 'PRODUCT_BUY', payload: { orderId: 'A-1' }, actions: [{ action: 'BURN', amount: 1.5 }] },
  {
    type: 'WATCH_AD',
    payload: { viewId: 7 },
    actions: [airdrop(alice, 2), { action: 'MEMO', message: 'thank you' }, airdrop(bob, 0.000001)],
  },
  { type: 'PRODUCT_BUY', payload: { orderId: 'A-2' }, actions: [{ action: 'BURN', amount: 12_345_678 }] },
];

export const units = (amount: number): bigint => BigInt(Math.round(amount * 1e6));

export interface Token {
  readonly program: PublicKey;
  readonly mint: PublicKey;
  readonly decimals: number;
  readonly account: PublicKey;
  readonly vault: PublicKey;
}

export interface Account {
  readonly owner: string;
  readonly lamports: bigint;
  readonly data: Uint8Array;
}
export type Accounts = Map<string, Account>;
export type MintParts = Mint & { program: PublicKey };
export type VaultParts = TokenAccountParts & { program: PublicKey };
type Mutable<Fields> = { -readonly [Name in keyof Fields]: Fields[Name] };
export type Message = Mutable<sqds.accounts.VaultBatchTransaction['message']>;
export interface State {
  multisig: Mutable<Parameters<typeof sqds.accounts.Multisig.fromArgs>[0]>;
  batch: Mutable<Parameters<typeof sqds.accounts.Batch.fromArgs>[0]>;
  proposal: Mutable<Parameters<typeof sqds.accounts.Proposal.fromArgs>[0]>;
  transactions: { bump: number; ephemeralSignerBumps: Uint8Array; message: Message }[];
}
export type Limits = Readonly<Record<string, string | readonly string[]>>;
export interface Pins {
  readonly multisig: string;
  readonly owner: string;
  readonly operator: string;
  readonly vaultIndex: number;
  readonly mint: string;
  facts?: Record<string, string>;
}

/** Everything that an attacker may change, and the owner's own knowledge. */
export interface World {
  readonly token: Token;
  /** By transaction; stored messages are built from them after the attack. */
  instructions: TransactionInstruction[][];
  state: (state: State) => unknown;
  mint: MintParts;
  vaultAccount: VaultParts;
  vaultLamports: bigint;
  /** Changes any account, last. */
  accounts: (accounts: Accounts) => unknown;
  wire: Uint8Array;
  batch: { id: string; multisig: string; batchIndex: string };
  pins: Pins;
  limits: Limits;
  /** The virtual machine takes one base unit from this account, at this offset. */
  machine: { readonly account: PublicKey; readonly offset: number } | null;
}

export const memo = (text: string | Buffer, signers: readonly PublicKey[]): TransactionInstruction =>
  new TransactionInstruction({
    programId: MEMO,
    keys: signers.map((pubkey) => ({ pubkey, isSigner: true, isWritable: false })),
    data: Buffer.from(text as string),
  });
export const burn = ({ account: from, mint: of, vault: by, decimals, program }: Token, amount: bigint) =>
  spl.createBurnCheckedInstruction(from, of, by, amount, decimals, [], program);
/** Cached: deriving an address takes longer than everything else here. */
const places = new Map<string, PublicKey>();
export function accountOf(
  { mint: of, program }: Pick<Token, 'mint' | 'program'>,
  wallet: PublicKey,
): PublicKey {
  const name = [of, program, wallet].join();
  const known = places.get(name) ?? spl.getAssociatedTokenAddressSync(of, wallet, true, program);
  places.set(name, known);
  return known;
}
export const create = (token: Token, wallet: PublicKey): TransactionInstruction => {
  const { mint: of, vault: payer, program } = token;
  return spl.createAssociatedTokenAccountIdempotentInstruction(
    payer,
    accountOf(token, wallet),
    wallet,
    of,
    program,
  );
};
export const transfer = (
  { account: from, mint: of, vault: by, decimals, program }: Token,
  to: PublicKey,
  amount: bigint,
): TransactionInstruction =>
  spl.createTransferCheckedInstruction(from, of, to, by, amount, decimals, [], program);
export const proof = (type: string, hash: string): TransactionInstruction =>
  memo(`{"type":"${type}","hash":"${hash}"}`, [vault]);

function actionInstructions(action: Action, token: Token): TransactionInstruction[] {
  if (action.action === 'BURN') return [burn(token, units(action.amount))];
  if (action.action === 'MEMO') return [memo(action.message, [token.vault])];
  const to = new PublicKey(action.toAddress);
  return [create(token, to), transfer(token, accountOf(token, to), units(action.amount))];
}

/** Payloads have one field, so that their text is canonical JSON. */
export const compiled = (pipelines: readonly Pipeline[], token: Token): TransactionInstruction[][] =>
  pipelines.map(({ type, payload, actions }) => [
    proof(type, hashOf(JSON.stringify(payload))),
    ...actions.flatMap((action) => actionInstructions(action, token)),
  ]);

/** The message that Squads stores for the vault's instructions. */
function stored(instructions: TransactionInstruction[]): Message {
  const { header, accountKeys, compiledInstructions } = new TransactionMessage({
    ...{ payerKey: vault, recentBlockhash: blockhash, instructions },
  }).compileToLegacyMessage();
  const { numRequiredSignatures, numReadonlySignedAccounts, numReadonlyUnsignedAccounts } = header;
  return {
    numSigners: numRequiredSignatures,
    numWritableSigners: numRequiredSignatures - numReadonlySignedAccounts,
    numWritableNonSigners: accountKeys.length - numRequiredSignatures - numReadonlyUnsignedAccounts,
    accountKeys,
    instructions: compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
      programIdIndex,
      accountIndexes: Uint8Array.from(accountKeyIndexes),
      data,
    })),
    addressTableLookups: [],
  };
}

const stateOf = (instructions: TransactionInstruction[][]): State => ({
  multisig: {
    ...{ createKey, configAuthority: PublicKey.default, threshold: 2, timeLock: 0, bump: multisigBump },
    ...{ transactionIndex: Number(INDEX), staleTransactionIndex: 0, rentCollector: operator },
    members: [owner, operator].map((one) => ({ key: one, permissions: { mask: 7 } })),
  },
  batch: {
    ...{ multisig, creator: operator, index: Number(INDEX), bump: batchBump, vaultIndex: 0, vaultBump },
    ...{ size: instructions.length, executedTransactionIndex: 0 },
  },
  proposal: {
    ...{ multisig, transactionIndex: Number(INDEX), status: { __kind: 'Active', timestamp: 1_700_000_000 } },
    ...{ bump: proposalBump, approved: [], rejected: [], cancelled: [] },
  },
  transactions: instructions.map((one, at) => ({
    ...{ bump: transactionAt(at)[1], ephemeralSignerBumps: new Uint8Array(), message: stored(one) },
  })),
});

export const PLACES: readonly (readonly [name: string, address: string])[] = [
  ['Multisig', multisig.toBase58()],
  ['Batch', batchAt.toBase58()],
  ['Proposal', proposalAt.toBase58()],
  ...FILE.map((_, at) => ['VaultBatchTransaction', transactionAt(at)[0].toBase58()] as const),
];

const account = (program: PublicKey, data: Uint8Array, lamports = 10_000_000n): Account => ({
  ...{ owner: program.toBase58(), lamports, data },
});
export const tokenAccount = (parts: VaultParts): Account => account(parts.program, tokenAccountData(parts));

export function accountsOf(world: World): Accounts {
  const state = stateOf(world.instructions);
  world.state(state);
  const { Multisig, Batch, Proposal, VaultBatchTransaction } = sqds.accounts;
  const written = [
    Multisig.fromArgs(state.multisig),
    Batch.fromArgs(state.batch),
    Proposal.fromArgs(state.proposal),
    ...state.transactions.map((one) => VaultBatchTransaction.fromArgs(one)),
  ].map((one) => account(sqds.PROGRAM_ID, one.serialize()[0], 2_000_000n));
  const places = [multisig, batchAt, proposalAt, ...state.transactions.map((_, at) => transactionAt(at)[0])];
  const accounts: Accounts = new Map(written.map((one, at) => [places[at]?.toBase58() ?? '', one]));
  accounts.set(mint.toBase58(), account(world.mint.program, mintData(world.mint)));
  accounts.set(world.token.account.toBase58(), tokenAccount(world.vaultAccount));
  accounts.set(vault.toBase58(), account(SystemProgram.programId, Buffer.alloc(0), world.vaultLamports));
  world.accounts(accounts);
  return accounts;
}

export function transaction(
  instructions: TransactionInstruction[],
  payerKey: PublicKey,
  signers: readonly Keypair[],
  recentBlockhash = blockhash,
): Uint8Array {
  const message = new TransactionMessage({ payerKey, recentBlockhash, instructions }).compileToV0Message();
  const made = new VersionedTransaction(message);
  made.sign([...signers]);
  return made.serialize();
}

export const vote = sqds.instructions.proposalApprove({ ...ofBatch, member: owner });
const issued = transaction([vote], operator, [OPERATOR]);

/** @param vaultExtension - the extension that Token-2022 gives to every account of a wallet. */
function pinsOf({ token }: Pick<World, 'token'>, vaultExtension: object): Pins {
  const [all, at] = ['initiate, vote, execute', (one: PublicKey) => one.toBase58()];
  return {
    ...{ multisig: at(multisig), owner: at(owner), operator: at(operator), vaultIndex: 0, mint: at(mint) },
    facts: {
      ...{ threshold: '2', timeLockSeconds: '0', configAuthority: 'none', rentCollector: at(operator) },
      ...{ [`member ${at(owner)}`]: all, [`member ${at(operator)}`]: all, 'mint.decimals': '6' },
      ...{ 'mint.tokenProgram': at(token.program), 'mint.mintAuthority': 'none' },
      ...{ 'mint.freezeAuthority': 'none', 'vaultAccount.address': at(token.account) },
      ...{ 'vaultAccount.owner': at(vault), 'vaultAccount.delegate': 'none' },
      ...{ 'vaultAccount.closeAuthority': 'none', 'vaultAccount.state': 'initialized', ...vaultExtension },
    },
  };
}

export function honestWorld(kind: TokenKind = 'token'): World {
  const program = PROGRAMS[kind];
  const token = { ...{ program, mint, decimals: 6, vault }, account: accountOf({ mint, program }, vault) };
  const isOld = kind === 'token';
  return {
    token,
    instructions: compiled(FILE, token),
    state: () => undefined,
    mint: {
      ...{ program, decimals: 6, supply: 1_000_000_000_000_000n, extensions: [] },
      ...{ mintAuthority: null, freezeAuthority: null },
    },
    vaultAccount: {
      ...{ program, mint, owner: vault, amount: 100_000_000_000_000n, state: 1, closeAuthority: null },
      ...{ delegate: null, delegatedAmount: 0n },
      extensions: isOld ? [] : [{ type: 7, data: new Uint8Array() }],
    },
    vaultLamports: 10_000_000_000n,
    accounts: () => undefined,
    wire: issued,
    batch: {
      ...{ id: '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11', multisig: multisig.toBase58() },
      batchIndex: String(INDEX),
    },
    pins: pinsOf({ token }, isOld ? {} : { 'vaultAccount.immutableOwner': 'present' }),
    limits: {},
    machine: null,
  };
}

/** Part of a refusal's text: an address, an amount or a role, never a sentence. */
export type Fact = string | PublicKey;
export type Facts = Fact | readonly Fact[];

export interface Attack {
  readonly name: string;
  readonly facts: readonly Fact[];
  readonly change: (world: World) => unknown;
  /** Executable pipelines that were not sent: without a file the screen shows exactly this content. */
  readonly shown?: readonly Pipeline[];
}
export const attack = (name: string, facts: Facts, change: Attack['change']): Attack => ({
  ...{ name, facts: [facts].flat(), change },
});
export const missing = (message: string, facts: readonly Fact[]): readonly string[] =>
  facts.map(String).filter((fact) => !message.replaceAll(/(?<=\d),(?=\d{3})/g, '').includes(fact));
