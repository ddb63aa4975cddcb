/** Pipelines as intent: what each becomes on chain, and the one digest that intent and chain share. Nothing is read here. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { type Address, address } from '../../values/address.js';
import { canonicalJson, type JsonObject } from '../../values/canonical-json.js';
import { isSha256, type Sha256, sha256 } from '../../values/digest.js';
import { formatTokenAmount, tokenAmountFromNumber } from '../../values/token-amount.js';
import { memo, proofMemoText } from '../memo.js';
import { associatedTokenAddress } from '../tokens/addresses.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  transferChecked,
} from '../tokens/instructions.js';
import type { Instruction } from '../transaction/instruction.js';

/** An action as the API takes it; amounts in whole tokens. */
export type SourceAction =
  | { readonly action: 'BURN'; readonly amount: number }
  | { readonly action: 'AIRDROP'; readonly toAddress: string; readonly amount: number }
  | { readonly action: 'MEMO'; readonly message: string };

/** A pipeline as the API takes it, with its payload hashed. */
export interface SourcePipeline {
  readonly type: string;
  readonly proofHash: Sha256;
  readonly actions: readonly SourceAction[];
}

/** An action in base units. */
export type PipelineAction =
  | { readonly action: 'BURN'; readonly amount: bigint }
  | { readonly action: 'AIRDROP'; readonly toAddress: Address; readonly amount: bigint }
  | { readonly action: 'MEMO'; readonly message: string };

/** What one transaction of a batch stands for. */
export interface PipelineContent {
  readonly type: string;
  readonly proofHash: Sha256;
  readonly actions: readonly PipelineAction[];
}

/** The token a flywheel burns and airdrops, and where its vault keeps it. */
export interface VaultToken {
  readonly mint: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
  readonly vault: Address;
  readonly vaultTokenAccount: Address;
}

/** Half of a surrogate pair would reach the chain as another character. */
function checkText(text: string): string {
  if (Buffer.from(text, 'utf8').toString('utf8') !== text) {
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      'Text holds half of a surrogate pair, which no UTF-8 text can carry.',
    );
  }
  return text;
}

/**
 * An action with its amount in base units.
 * @throws `ERR_INVALID_REQUEST` for an amount, address or text that cannot stand on chain.
 */
export function actionContent(source: SourceAction, decimals: number): PipelineAction {
  switch (source.action) {
    case 'BURN':
      return { action: 'BURN', amount: tokenAmountFromNumber(source.amount, decimals) };
    case 'AIRDROP':
      return {
        action: 'AIRDROP',
        toAddress: address(source.toAddress),
        amount: tokenAmountFromNumber(source.amount, decimals),
      };
    case 'MEMO':
      return { action: 'MEMO', message: checkText(source.message) };
  }
}

/** A pipeline with amounts in base units. @throws `ERR_INVALID_REQUEST` as {@link actionContent}. */
export const pipelineContent = (source: SourcePipeline, decimals: number): PipelineContent => ({
  type: checkText(source.type),
  proofHash: source.proofHash,
  actions: source.actions.map((action) => actionContent(action, decimals)),
});

/** The instructions of one action, run by the vault. */
export function actionInstructions(action: PipelineAction, token: VaultToken): readonly Instruction[] {
  const { mint, decimals, tokenProgram, vault, vaultTokenAccount } = token;
  const amounts = { mint, decimals, tokenProgram, owner: vault };
  switch (action.action) {
    case 'BURN':
      return [burnChecked({ ...amounts, account: vaultTokenAccount, amount: action.amount })];
    case 'AIRDROP': {
      const to = associatedTokenAddress(action.toAddress, mint, tokenProgram);
      return [
        createAssociatedTokenAccountIdempotent({ payer: vault, owner: action.toAddress, mint, tokenProgram }),
        transferChecked({ ...amounts, from: vaultTokenAccount, to, amount: action.amount }),
      ];
    }
    case 'MEMO':
      return [memo(action.message, [vault])];
  }
}

/** The instructions of a pipeline: the memo with its proof, then its actions in order. */
export const pipelineInstructions = (content: PipelineContent, token: VaultToken): readonly Instruction[] => [
  memo(proofMemoText(content.type, content.proofHash), [token.vault]),
  ...content.actions.flatMap((action) => actionInstructions(action, token)),
];

/** Decimals that the shortest text of a number has: 2 for 1.25, 7 for 1e-7. */
function fractionDigits(value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e');
  return Math.max(0, (digits.split('.')[1] ?? '').length - Number(exponent));
}

/** A number as plain decimal text, as {@link formatTokenAmount} writes the same amount from base units. */
function decimalText(value: number): string {
  const decimals = fractionDigits(value);
  return formatTokenAmount(tokenAmountFromNumber(value, decimals), decimals);
}

const digestOf = (pipelines: readonly JsonObject[]): Sha256 => sha256(canonicalJson(pipelines));

/** The form that is hashed: amounts as decimal text in whole tokens, so that no decimals of a mint are needed. */
const canonicalPipeline = <Amount>(
  pipeline: {
    readonly type: string;
    readonly proofHash: string;
    readonly actions: readonly (
      | { readonly action: 'BURN'; readonly amount: Amount }
      | { readonly action: 'AIRDROP'; readonly toAddress: string; readonly amount: Amount }
      | { readonly action: 'MEMO'; readonly message: string }
    )[];
  },
  amountText: (amount: Amount) => string,
): JsonObject => ({
  type: pipeline.type,
  hash: pipeline.proofHash,
  actions: pipeline.actions.map(
    (action): JsonObject =>
      action.action === 'MEMO' ? { ...action } : { ...action, amount: amountText(action.amount) },
  ),
});

/**
 * The digest of a pipelines file, from the file alone: SHA-256 of the canonical JSON of
 * `[{ type, hash, actions: [{ action, amount | toAddress, amount | message }] }]` with amounts as decimal text.
 */
export const pipelinesDigest = (pipelines: readonly SourcePipeline[]): Sha256 =>
  digestOf(pipelines.map((pipeline) => canonicalPipeline(pipeline, decimalText)));

/** The same digest of what stands on chain; equal exactly if types, hashes, actions and their order are. */
export const contentDigest = (pipelines: readonly PipelineContent[], decimals: number): Sha256 =>
  digestOf(
    pipelines.map((pipeline) => canonicalPipeline(pipeline, (amount) => formatTokenAmount(amount, decimals))),
  );

const DIGEST_PREFIX = 'sha256:';

/** A digest as people pass it on: `sha256:` and 64 hexadecimal digits. */
export const digestText = (digest: Sha256): string => `${DIGEST_PREFIX}${digest}`;

/** The digest of such a text, or `undefined` if it is none. */
export function parseDigestText(text: string): Sha256 | undefined {
  const digest = text.slice(DIGEST_PREFIX.length).toLowerCase();
  return text.startsWith(DIGEST_PREFIX) && isSha256(digest) ? digest : undefined;
}
