/** How `batch execute` comes by the owner's signature. What is noted of it is enough to sign later, from anywhere. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { digestText } from '../../actions/pipelines.js';
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import type { Uuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import { inputError } from '../input/read-input.js';
import type { KeypairSource } from '../wallet/keypair-source.js';
import { readApproval } from './approval-source.js';
import { approveBatch, requireSigned, type Signed } from './approve-batch.js';
import { type Expectation, expectedDigest, readExpectation } from './expectation.js';

/** What the user has said about signing; no key is among it. */
export interface SigningTerms {
  /** The approval: an absolute path, base64, or the id of the batch, for which a fresh one is issued. */
  readonly approval: string;
  /** Absolute path of the keypair file; `null` when it came from elsewhere. */
  readonly keypair: string | null;
  /** `sha256:…` of what the batch is to hold. */
  readonly expect: string | null;
  readonly allowUnverified: boolean;
  /** Missing in what earlier versions have noted. */
  readonly simulate?: boolean;
}

/** The terms as they are noted. */
export const signingTerms = (
  { context }: Session,
  batchId: Uuid,
  given: {
    readonly approval: string;
    readonly keypair: KeypairSource;
    readonly expectation: Expectation | null;
    readonly allowUnverified: boolean;
    readonly simulate: boolean;
  },
): SigningTerms => ({
  approval: given.approval === '-' ? batchId : absoluteIfThere(context.cwd, given.approval),
  keypair: typeof given.keypair === 'string' ? given.keypair : null,
  expect: given.expectation === null ? null : digestText(expectedDigest(given.expectation)),
  allowUnverified: given.allowUnverified,
  simulate: given.simulate,
});

function absoluteIfThere(cwd: string, source: string): string {
  const path = resolve(cwd, source);
  return existsSync(path) ? path : source;
}

/** Checks, asks and signs, when it comes to that. */
export const signing =
  (
    session: Session,
    batchId: Uuid,
    { approval: source, expect, allowUnverified, simulate = true }: SigningTerms,
    signer: () => Promise<KeypairSigner>,
  ): (() => Promise<Signed>) =>
  async () => {
    const approval = await readApproval(session, source);
    if (approval.batch.id.toLowerCase() !== batchId)
      throw inputError(source, `it is the approval of batch ${approval.batch.id}`);
    const expectation = expect === null ? null : await readExpectation(session, expect);
    const approved = await approveBatch(session, {
      ...{ approval, signer, expectation, allowUnverified, simulate },
      mayBeApproved: true,
    });
    return requireSigned(approved);
  };
