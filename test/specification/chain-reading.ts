/** Reads and writes accounts and transactions with web3.js and spl-token. */
import {
  AccountLayout,
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
  MintLayout,
  TOKEN_2022_PROGRAM_ID,
  TOKEN_PROGRAM_ID,
} from '@solana/spl-token';
import {
  type AccountInfo,
  type Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
  VersionedTransaction,
} from '@solana/web3.js';
import type { InProcessService, LandedTransaction, Project } from './in-process-service.js';
import { keypairOf } from './requests.js';

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const TOKEN_PROGRAMS = { token: TOKEN_PROGRAM_ID, 'token-2022': TOKEN_2022_PROGRAM_ID } as const;
const FEE_LAMPORTS = 5_000n;
/** Some builds of the memo program write the text into the same line, some into the next. */
const MEMO_LOG = /^Program log: Memo \(len \d+\)(?:: "(.*)")?$/;
const LOG = 'Program log: ';

interface OnChain {
  readonly service: InProcessService;
}

export const tokenAccount = ({ mintAddress, tokenProgram }: Project, wallet: string): PublicKey =>
  getAssociatedTokenAddressSync(
    new PublicKey(mintAddress),
    new PublicKey(wallet),
    true,
    TOKEN_PROGRAMS[tokenProgram],
  );

/** 0 without the account. */
export async function supplyOf({ service }: OnChain, { mintAddress }: Project): Promise<bigint> {
  const account = await service.account(mintAddress);
  return account === null ? 0n : MintLayout.decode(account.data).supply;
}

/** 0 without a token account. */
export async function balanceOf({ service }: OnChain, project: Project, wallet: string): Promise<bigint> {
  const account = await service.account(tokenAccount(project, wallet).toBase58());
  return account === null ? 0n : AccountLayout.decode(account.data).amount;
}

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

/** Opens the recipient's account if it is missing. */
export async function sendTokens(
  under: OnChain,
  project: Project,
  { from, to, amount }: { readonly from: Keypair; readonly to: string; readonly amount: bigint },
): Promise<void> {
  const program = TOKEN_PROGRAMS[project.tokenProgram];
  const [mint, owner] = [new PublicKey(project.mintAddress), from.publicKey];
  const [source, target] = [tokenAccount(project, owner.toBase58()), tokenAccount(project, to)];
  const { decimals } = project;
  await land(under, from, [
    createAssociatedTokenAccountIdempotentInstruction(owner, target, new PublicKey(to), mint, program),
    createTransferCheckedInstruction(source, mint, target, owner, amount, decimals, [], program),
  ]);
}

/** Takes all but `leave` lamports out of a wallet for which the service signs. */
export async function drain(under: OnChain, wallet: string, leave: bigint): Promise<void> {
  const held = await lamportsOf(under, wallet);
  const from = keypairOf(under.service.secretOf(wallet));
  await sendLamports(under, from, under.service.treasury, held - leave - FEE_LAMPORTS);
}
