/** Splits a request into elements. Equal elements are numbered, so each is distinct. */
import { MOVES } from '../../contract/limits.js';
import type { Pipeline } from '../../contract/schemas/batch.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { fingerprint, type Sha256, sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { Element, OperationKind } from '../journal/journal.js';
import { countText } from '../views/unit.js';

/** @param indexes - `null`: all */
export const pick = <Item>(items: readonly Item[], indexes: readonly number[] | null): readonly Item[] =>
  indexes === null ? items : indexes.flatMap((index) => items.slice(index, index + 1));

export const nounOf = (kind: OperationKind): string => (kind === 'batch' ? 'pipeline' : 'burn');

function numbered(
  texts: readonly (readonly [content: string, subject: string, kinds: number])[],
): readonly Element[] {
  const counts = new Map<string, number>();
  return texts.map(([text, subject, kinds]) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count + 1);
    return { digest: sha256(`${text} ${count}`), content: sha256(text), subject: sha256(subject), kinds };
  });
}

/** Burns with the same type, proof and amount are equal, recorded on chain or not. */
export const burnElements = (burns: readonly BurnRequest[]): readonly Element[] =>
  numbered(
    burns.map(({ type, proof, burnAmount }) => [
      `burn ${fingerprint({ type, proof, burnAmount })}`,
      `burn ${fingerprint({ type, proof })}`,
      kindsOf({ actions: [{ action: 'BURN' }] }),
    ]),
  );

export const pipelineElements = (pipelines: readonly Pipeline[]): readonly Element[] =>
  numbered(
    pipelines.map((pipeline) => {
      const { type, payload } = pipeline;
      return [
        `pipeline ${fingerprint(pipeline as unknown as JsonObject)}`,
        `pipeline ${fingerprint({ type, payload })}`,
        kindsOf(pipeline),
      ];
    }),
  );

/** One bit for each way in which its actions move tokens; a bit of its own if they move none. */
export function kindsOf({ actions }: { readonly actions: readonly { readonly action: string }[] }): number {
  const bits = MOVES.map((kind, at) => (actions.some(({ action }) => action === kind) ? 2 ** at : 0));
  return bits.reduce((sum, bit) => sum + bit, 0) || 2 ** MOVES.length;
}

export const contentOf = (burns: readonly BurnRequest[]): Sha256 =>
  sha256(burns.map((burn) => fingerprint({ ...burn })).join(' '));

const MAX_NAMED = 20;

export const namedText = (all: readonly (string | number)[], most = MAX_NAMED, separator = ', '): string =>
  `${all.slice(0, most).join(separator)}${all.length > most ? ` and ${all.length - most} more` : ''}`;

/** Warns of elements that equal an earlier one, or have its proof. @param done - such as `burned`. @returns the warnings */
export function warnOfEqual(
  { output }: Session,
  elements: readonly Element[],
  noun: string,
  done: string,
): readonly string[] {
  const seen = new Map<string, number>();
  const equal: string[] = [];
  const sameProof: string[] = [];
  for (const [index, { content, ...element }] of elements.entries()) {
    const subject = `${element.subject} ${element.kinds}`;
    const [twin, other] = [seen.get(content), seen.get(subject)];
    if (twin !== undefined) equal.push(`${noun} ${index + 1} equals ${noun} ${twin + 1}`);
    else if (other !== undefined) sameProof.push(`${noun} ${index + 1} and ${noun} ${other + 1}`);
    for (const hash of [content, subject]) if (!seen.has(hash)) seen.set(hash, index);
  }
  const all = countText(elements.length, noun);
  const warnings = (
    [
      [equal, 'duplicate an earlier one'],
      [sameProof, 'have the proof of an earlier one with another amount or recipient'],
    ] as const
  ).flatMap(([found, what]) =>
    found.length === 0 ? [] : `${found.length} of ${all} ${what} (${found[0]}). Each one is ${done}.`,
  );
  warnings.forEach(output.warn);
  return warnings;
}
