/** The elements of an operation, distinguished by what they are and by how many alike stand before them. */
import type { Pipeline } from '../../contract/schemas/batch.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { fingerprint, type Sha256, sha256 } from '../../values/digest.js';

/** Numbers elements that are alike: the third of three is another element than the first. */
function numbered(texts: readonly string[]): readonly Sha256[] {
  const counts = new Map<string, number>();
  return texts.map((text) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count + 1);
    return sha256(`${text} ${count}`);
  });
}

/** Burns with the same type, proof and amount are alike, recorded on chain or not. */
export const burnText = ({ type, proof, burnAmount }: BurnRequest): string =>
  `burn ${fingerprint({ type, proof, burnAmount })}`;

/** The digests of burns, in their order. */
export const burnDigests = (burns: readonly BurnRequest[]): readonly Sha256[] =>
  numbered(burns.map(burnText));

/** The digests of pipelines, in their order. */
export const pipelineDigests = (pipelines: readonly Pipeline[]): readonly Sha256[] =>
  numbered(pipelines.map((pipeline) => `pipeline ${fingerprint(pipeline as unknown as JsonObject)}`));

/** The digest of a whole list. */
export const contentDigest = (digests: readonly Sha256[]): Sha256 => sha256(digests.join(' '));

/** How many elements are equal to one before them, and the first two that are, counted from 0. */
export function equalElements(
  texts: readonly string[],
): { readonly count: number; readonly first: readonly [number, number] } | undefined {
  const seen = new Map<string, number>();
  let count = 0;
  let first: readonly [number, number] | undefined;
  for (const [index, text] of texts.entries()) {
    const earlier = seen.get(text);
    if (earlier === undefined) seen.set(text, index);
    else {
      count += 1;
      first ??= [earlier, index];
    }
  }
  return first === undefined ? undefined : { count, first };
}
