/** Valid requests, with parts that a test can replace. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Keypair, VersionedTransaction } from '@solana/web3.js';
import type { BurnRequest, Pipeline } from './api.js';
import type { InProcessService, Project } from './in-process-service.js';

const canonicalize = createRequire(import.meta.url)('canonicalize') as (value: unknown) => string;

/** SHA-256 of a value's canonical JSON (RFC 8785), in lowercase hex. */
export const canonicalHash = (value: unknown): string =>
  createHash('sha256').update(canonicalize(value)).digest('hex');

export const aBurnRequest = (burnAmount: number, more: Partial<BurnRequest> = {}): BurnRequest => ({
  type: 'PRODUCT_BUY',
  proof: { order: burnAmount },
  burnAmount,
  persistOnchain: false,
  ...more,
});

export const aPipeline = (actions: readonly unknown[], more: Partial<Pipeline> = {}): Pipeline => ({
  type: 'PRODUCT_BUY',
  payload: '{"order":1}',
  actions,
  ...more,
});

export const burnAction = (amount: number) => ({ action: 'BURN', amount }) as const;

export const burning = (...amounts: number[]) => ({
  pipelines: amounts.map((amount) => aPipeline([burnAction(amount)])),
});

export const keypairOf = (secret: string): Keypair => Keypair.fromSecretKey(Buffer.from(secret, 'hex'));

export const someWallet = (): string => Keypair.generate().publicKey.toBase58();

function signedBy(signer: Keypair, transaction: VersionedTransaction): string {
  transaction.sign([signer]);
  return Buffer.from(transaction.serialize()).toString('base64');
}

export const signVote = ({ ownerSecret }: Pick<Project, 'ownerSecret'>, vote: string): string =>
  signedBy(keypairOf(ownerSecret), VersionedTransaction.deserialize(Buffer.from(vote, 'base64')));

export const approved = (
  project: Pick<Project, 'ownerSecret'>,
  {
    batch,
    proposalApproveTx,
  }: { readonly batch: { readonly id: string }; readonly proposalApproveTx: string },
) => ({
  batchId: batch.id,
  signedTx: signVote(project, proposalApproveTx),
});

const DAY_MS = 86_400_000;

/** Noon (UTC) of the next day is far from both midnights, where caps reset. */
export function passToNextNoon({ service }: { readonly service: InProcessService }): void {
  const nextDay = Math.floor(service.nowMs() / DAY_MS) + 1;
  service.passTime(nextDay * DAY_MS + DAY_MS / 2 - service.nowMs());
}
