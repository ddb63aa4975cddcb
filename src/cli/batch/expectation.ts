/** What the user expects a batch to hold: a pipelines file, or its digest. */

import {
  digestText,
  parseDigestText,
  pipelinesDigest,
  type SourcePipeline,
} from '../../actions/pipelines.js';
import type { BatchContent } from '../../approval/batch-content.js';
import { compareWithPipelines } from '../../approval/compare-pipelines.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import { openInput } from '../input/read-input.js';

/** Pipelines in full, or only their digest. */
export type Expectation = { readonly pipelines: readonly SourcePipeline[] } | { readonly digest: Sha256 };

/** Reads `--expect`: `sha256:…` or a pipelines file. @throws `ERR_INPUT_INVALID` */
export async function readExpectation(session: Session, text: string): Promise<Expectation> {
  const digest = parseDigestText(text);
  if (digest !== undefined) return { digest };
  const { pipelines } = readPipelinesFile(await openInput(session.context, text), null);
  return { pipelines: toSourcePipelines(pipelines) };
}

/** The digest of what is expected. */
export const expectedDigest = (expectation: Expectation): Sha256 =>
  'digest' in expectation ? expectation.digest : pipelinesDigest(expectation.pipelines);

/** Holds the chain against what is expected. @throws `ERR_APPROVAL_REFUSED` naming what differs. */
export function checkExpectation(
  description: BatchContent,
  expectation: Expectation,
  token: { readonly decimals: number },
): void {
  if ('pipelines' in expectation) {
    compareWithPipelines(description, expectation.pipelines, token);
    return;
  }
  const { digest, pipelinesProblem } = description;
  if (digest === expectation.digest) return;
  const found = digest === null ? (pipelinesProblem ?? 'none') : digestText(digest);
  throw new FlywheelError(
    'ERR_APPROVAL_REFUSED',
    `The digest of the batch is ${found}, expected ${digestText(expectation.digest)}.`,
  );
}
