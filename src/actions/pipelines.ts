/** Pipelines before they are on chain: their instructions, and the digest that the file and the chain share. No I/O. */
import type { VaultToken } from '../chain/chain.js';
import { memo, proofMemoText } from '../chain/small-programs.js';
import type { Instruction } from '../chain/transaction/message.js';
import { canonicalJson, type JsonObject } from '../values/canonical-json.js';
import { isSha256, type Sha256, sha256 } from '../values/digest.js';
import { wholeText } from '../values/text.js';
import { formatTokenAmount, tokenAmountFromNumber } from '../values/token-amount.js';
import {
  actionContent,
  actionInstructions,
  inText,
  type PipelineAction,
  type SourceAction,
} from './registry.js';

export interface SourcePipeline {
  readonly type: string;
  readonly proofHash: Sha256;
  readonly actions: readonly SourceAction[];
}

export interface PipelineContent {
  readonly type: string;
  readonly proofHash: Sha256;
  readonly actions: readonly PipelineAction[];
}

/** @throws `ERR_INVALID_REQUEST` as {@link actionContent}. */
export const pipelineContent = (source: SourcePipeline, decimals: number): PipelineContent => ({
  type: wholeText(source.type),
  proofHash: source.proofHash,
  actions: source.actions.map((action) => actionContent(action, decimals)),
});

export const pipelineInstructions = (content: PipelineContent, token: VaultToken): readonly Instruction[] => [
  memo(proofMemoText(content.type, content.proofHash), [token.vault]),
  ...content.actions.flatMap((action) => actionInstructions(action, token)),
];

/** Decimals in the shortest text of a number: 2 for 1.25, 7 for 1e-7. */
function fractionDigits(value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e');
  return Math.max(0, (digits.split('.')[1] ?? '').length - Number(exponent));
}

/** Decimal text equal to that of {@link formatTokenAmount} for the same amount. */
function decimalText(value: number): string {
  const decimals = fractionDigits(value);
  return formatTokenAmount(tokenAmountFromNumber(value, decimals), decimals);
}

/** Amounts are decimal text in whole tokens, so that the digest of a file needs no decimals of a mint. */
const digestOf = <Action>(
  pipelines: readonly {
    readonly type: string;
    readonly proofHash: Sha256;
    readonly actions: readonly Action[];
  }[],
  canonical: (action: Action) => JsonObject,
): Sha256 =>
  sha256(
    canonicalJson(
      pipelines.map(({ type, proofHash: hash, actions }) => ({
        type,
        hash,
        actions: actions.map(canonical),
      })),
    ),
  );

/** Cache by list identity: one run compares the digest several times. */
const digests = new WeakMap<readonly SourcePipeline[], Sha256>();

/**
 * Digest of a pipelines file, without the chain: SHA-256 of the canonical JSON of `[{ type, hash, actions: [{ action, amount |
 * toAddress, amount | message }] }]` with amounts as decimal text.
 */
export function pipelinesDigest(pipelines: readonly SourcePipeline[]): Sha256 {
  const known = digests.get(pipelines);
  if (known !== undefined) return known;
  const digest = digestOf(pipelines, (action) =>
    'amount' in action ? { ...action, amount: decimalText(action.amount) } : { ...action },
  );
  digests.set(pipelines, digest);
  return digest;
}

/** The same digest from the content on chain. Equal exactly if types, hashes, actions and their order are equal. */
export const contentDigest = (pipelines: readonly PipelineContent[], decimals: number): Sha256 =>
  digestOf(pipelines, (action) => ({ ...inText(action, decimals) }));

const DIGEST_PREFIX = 'sha256:';

export const digestText = (digest: Sha256): string => `${DIGEST_PREFIX}${digest}`;

export function parseDigestText(text: string): Sha256 | undefined {
  const digest = text.slice(DIGEST_PREFIX.length).toLowerCase();
  return text.startsWith(DIGEST_PREFIX) && isSha256(digest) ? digest : undefined;
}
