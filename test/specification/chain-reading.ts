/** Reads and writes accounts and transactions with web3.js and the layouts of SPL tokens. */
import {
  type AccountInfo,
  type Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionInstruction,
  VersionedTransaction,
} from '@solana/web3.js';
import type { InProcessService, LandedTransaction, Project } from '../support/in-process-service.js';
import { keypairOf } from './requests.js';

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const ASSOCIATED_TOKEN_PROGRAM = new PublicKey('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const TOKEN_PROGRAMS = {
  token: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'token-2022': 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
} as const;
/** Offsets in the accounts of SPL tokens (state.rs of spl-token). */
const MINT_SUPPLY_AT = 36;
const TOKEN_AMOUNT_AT = 64;
const CREATE_IDEMPOTENT = 1;
const TRANSFER_CHECKED = 12;
const FEE_LAMPORTS = 5_000n;
/** Some builds of the memo program write the text into the same line, some into the next. */
const MEMO_LOG = /^Program log: Memo \(len \d+\)(?:: "(.*)")?$/;
const LOG = 'Program log: ';

interface OnChain {
  readonly service: InProcessService;
}

async function numberAt({ service }: OnChain, address: string, offset: number): Promise<bigint> {
  const account = await service.account(address);
  return account === null ? 0n : Buffer.from(account.data).readBigUInt64LE(offset);
}

export function tokenAccount({ mintAddress, tokenProgram }: Project, wallet: string): PublicKey {
  const seeds = [wallet, TOKEN_PROGRAMS[tokenProgram], mintAddress].map((seed) => new PublicKey(seed));
  return PublicKey.findProgramAddressSync(
    seeds.map((seed) => seed.toBuffer()),
    ASSOCIATED_TOKEN_PROGRAM,
  )[0];
}

export const supplyOf = (under: OnChain, { mintAddress }: Project): Promise<bigint> =>
  numberAt(under, mintAddress, MINT_SUPPLY_AT);

/** 0 without a token account. */
export const balanceOf = (under: OnChain, project: Project, wallet: string): Promise<bigint> =>
  numberAt(under, tokenAccount(project, wallet).toBase58(), TOKEN_AMOUNT_AT);

export const lamportsOf = async ({ service }: OnChain, wallet: string): Promise<bigint> =>
  (await service.account(wallet))?.lamports ?? 0n;

/** An account in the shape that decoders of `@sqds/multisig` take. */
export async function accountInfoOf(
  { service }: OnChain,
  address: string | PublicKey,
): Promise<AccountInfo<Buffer>> {
  const found = await service.account(String(address));
  if (found === null) throw new TypeError(`${address} is no account.`);
  const { lamports, owner, data } = found;
  return {
    lamports: Number(lamports),
    owner: new PublicKey(owner),
    data: Buffer.from(data),
    executable: false,
  };
}

/** A transaction that must have landed. */
export async function landedRecord({ service }: OnChain, txHash: string): Promise<LandedTransaction> {
  const landed = await service.transaction(txHash);
  if (landed === null) throw new TypeError(`${txHash} has not landed.`);
  return landed;
}

export const blockTimeOf = async (under: OnChain, txHash: string): Promise<string> =>
  new Date((await landedRecord(under, txHash)).blockTimeMs).toISOString();

export const wireBytes = async (under: OnChain, txHash: string): Promise<Uint8Array> =>
  (await landedRecord(under, txHash)).bytes;

export async function instructionsOf(
  under: OnChain,
  txHash: string,
): Promise<readonly { readonly program: string; readonly data: Uint8Array }[]> {
  const { message } = VersionedTransaction.deserialize(await wireBytes(under, txHash));
  return message.compiledInstructions.map(({ programIdIndex, data }) => ({
    program: message.staticAccountKeys[programIdIndex]?.toBase58() ?? '',
    data,
  }));
}

export const memosOf = async (under: OnChain, txHash: string): Promise<readonly string[]> =>
  (await instructionsOf(under, txHash))
    .filter(({ program }) => program === MEMO_PROGRAM)
    .map(({ data }) => Buffer.from(data).toString());

/** All executed memos in order, including those that the multisig executed for its vault. */
export async function memosRun(under: OnChain, txHash: string): Promise<readonly string[]> {
  const { logs } = await landedRecord(under, txHash);
  return logs.flatMap((line, index) => {
    const found = MEMO_LOG.exec(line);
    if (found === null) return [];
    return [found[1]?.replaceAll('\\"', '"') ?? logs[index + 1]?.slice(LOG.length) ?? ''];
  });
}

export const treasuryOf = ({ service }: OnChain): Keypair => keypairOf(service.secretOf(service.treasury));

/** Lands one transaction that `payer` signs and pays for, without the service. */
export async function land(
  { service }: OnChain,
  payer: Keypair,
  instructions: readonly TransactionInstruction[],
): Promise<void> {
  const transaction = new Transaction({
    feePayer: payer.publicKey,
    recentBlockhash: await service.blockhash(),
  });
  transaction.add(...instructions).sign(payer);
  const error = await service.land(Uint8Array.from(transaction.serialize()));
  if (error !== null) throw new TypeError(`The payment did not land: ${JSON.stringify(error)}`);
}

export const sendLamports = (under: OnChain, from: Keypair, to: string, lamports: bigint): Promise<void> =>
  land(under, from, [
    SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: new PublicKey(to), lamports }),
  ]);

const account = (pubkey: PublicKey, rights: '' | 's' | 'w' | 'sw' = '') => ({
  pubkey,
  isSigner: rights.startsWith('s'),
  isWritable: rights.endsWith('w'),
});

/** Opens the recipient's account if it is missing. */
export async function sendTokens(
  under: OnChain,
  project: Project,
  { from, to, amount }: { readonly from: Keypair; readonly to: string; readonly amount: bigint },
): Promise<void> {
  const program = new PublicKey(TOKEN_PROGRAMS[project.tokenProgram]);
  const [mint, owner] = [new PublicKey(project.mintAddress), from.publicKey];
  const [source, target] = [tokenAccount(project, owner.toBase58()), tokenAccount(project, to)];
  const data = Buffer.alloc(10);
  data.writeUInt8(TRANSFER_CHECKED);
  data.writeBigUInt64LE(amount, 1);
  data.writeUInt8(project.decimals, 9);
  await land(under, from, [
    new TransactionInstruction({
      programId: ASSOCIATED_TOKEN_PROGRAM,
      keys: [
        ...[account(owner, 'sw'), account(target, 'w'), account(new PublicKey(to)), account(mint)],
        ...[account(SystemProgram.programId), account(program)],
      ],
      data: Buffer.of(CREATE_IDEMPOTENT),
    }),
    new TransactionInstruction({
      programId: program,
      keys: [account(source, 'w'), account(mint), account(target, 'w'), account(owner, 's')],
      data,
    }),
  ]);
}

/** Takes all but `leave` lamports out of a wallet for which the service signs. */
export async function drain(under: OnChain, wallet: string, leave: bigint): Promise<void> {
  const held = await lamportsOf(under, wallet);
  const from = keypairOf(under.service.secretOf(wallet));
  await sendLamports(under, from, under.service.treasury, held - leave - FEE_LAMPORTS);
}
