/** Reads the issued approval from the response of init, bare base64, or the service. */

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Settings } from '../../compose/settings.js';
import type { Batch, InitBatchResult } from '../../contract/schemas/batch.js';
import { FILE_SCHEMAS } from '../../contract/schemas/files.js';
import { checkInput, pathText } from '../../contract/validate.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { approvalDirectory } from '../../files/directories.js';
import { makePrivateDirectory, writeFileAtomic } from '../../files/write-file.js';
import { isUuid, type Uuid } from '../../values/ids.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import { inInput, inputError, type NamedText, readInputText, requireKind } from '../input/read-input.js';
import { repeatable } from '../operation/resume-line.js';
import { type OutputFile, writeOutput } from '../output/output-file.js';
import { callWith, isNotOffered } from '../send.js';
import { refuse } from './pins.js';

export interface BatchName {
  readonly id: Uuid;
  /** As the service says; the pins decide. */
  readonly multisig: string;
  readonly batchIndex: bigint;
}

/** An issued approval, unchecked. */
export interface IssuedApproval {
  readonly wire: Uint8Array;
  readonly batch: BatchName;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** @throws `ERR_INPUT_INVALID` */
export function decodeBase64(name: string, text: string): Uint8Array {
  if (text === '' || text.length % 4 !== 0 || !BASE64.test(text))
    throw inputError(name, `expected base64${name.startsWith('--') ? ', or @FILE' : ''}`);
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

export const MAX_BATCH_INDEX = 2n ** 64n - 1n;

export const isBatchIndex = (index: bigint): boolean => index >= 1n && index <= MAX_BATCH_INDEX;

/** @throws `ERR_RESPONSE_INVALID` when the batch has no index yet; `ERR_APPROVAL_REFUSED` for one that no batch can have. */
export function batchName({
  id,
  multisig,
  ...batch
}: Pick<Batch, 'id' | 'multisig' | 'batchIndex'>): BatchName {
  if (!/^[0-9]{1,20}$/.test(batch.batchIndex))
    throw new FlywheelError(
      'ERR_RESPONSE_INVALID',
      `Batch ${id} has no index yet: its set-up is not finished.`,
    );
  const batchIndex = BigInt(batch.batchIndex);
  if (isBatchIndex(batchIndex)) return { id: id as Uuid, multisig, batchIndex };
  throw refuse(`Expected a batch index from 1 to ${MAX_BATCH_INDEX}, got ${batchIndex}.`);
}

/** `source` is a batch id, an approval file of `batch init`, base64, or `-` for standard input. @throws `ERR_INPUT_INVALID` */
export async function readApproval(session: Session, source: string): Promise<IssuedApproval> {
  const { context } = session;
  if (isUuid(source)) return freshApproval(session, source.toLowerCase() as Uuid);
  const isText = source !== '-' && !existsSync(resolve(context.cwd, source)) && isBareBase64(source);
  const input = isText ? { name: 'the approval', text: source } : await readInputText(context, source);
  const text = input.text.trim();
  if (/^[{[]/.test(text)) return readApprovalFile(input);
  const wire = decodeBase64(input.name, text);
  return { wire, batch: await currentBatchName(session) };
}

/** Asks the service for a fresh approval. A service without this operation: reads the file of an earlier init. */
async function freshApproval(session: Session, batchId: Uuid): Promise<IssuedApproval> {
  const opened = await session.service();
  try {
    const { value } = await opened.service.issueApproval({ batchId }, callWith(session, opened));
    return {
      wire: decodeBase64('proposalApproveTx', value.proposalApproveTx),
      batch: batchName(value.batch),
    };
  } catch (error) {
    const path = approvalFile(session.settings, batchId);
    if (!isNotOffered(error) || !existsSync(path)) return repeatable(session, () => Promise.reject(error));
    return readApprovalFile(await readInputText(session.context, path));
  }
}

/** A transaction is longer than this; a shorter text is the name of a missing file. */
const isBareBase64 = (source: string): boolean => source.length > 200 && BASE64.test(source);

function readApprovalFile({ name, text }: NamedText): IssuedApproval {
  const { value } = inInput(name, () => parseStrictJson(text.trim()));
  requireKind(name, value, 'an approval file');
  const read = checkInput(FILE_SCHEMAS.approval, value);
  if ('issues' in read) {
    const problems = read.issues.map(({ path, reason }) => `${pathText(path)}: ${reason}`);
    throw inputError(
      name,
      `expected an approval file, as \`batch init --out\` writes it; ${problems.join('; ')}`,
    );
  }
  const { proposalApproveTx, batch } = read.value;
  return { wire: decodeBase64(`${name}: proposalApproveTx`, proposalApproveTx), batch: batchName(batch) };
}

/** Bare base64 does not name its batch. The current batch is assumed, and the check compares the vote with it. */
async function currentBatchName(session: Session): Promise<BatchName> {
  const opened = await session.service();
  const { value } = await opened.service.currentBatch(callWith(session, opened));
  if (value !== null) return batchName(value);
  throw new FlywheelError('ERR_INPUT_INVALID', 'No batch is waiting for approval.', {
    hint: 'Name the approval file of the batch, from `batch init --out`.',
  });
}

const approvalFile = ({ apiUrl, dataDir, configDir }: Settings, batchId: string): string =>
  join(approvalDirectory(apiUrl.value === null ? dataDir.value : configDir.value), `${batchId}.json`);

/** @throws `ERR_INPUT_INVALID` */
export function writeApproval(settings: Settings, answer: InitBatchResult, out: OutputFile | null): string {
  const text = `${JSON.stringify(answer)}\n`;
  if (out !== null) {
    writeOutput(out, text, { isPublic: true, isAsGood: (found) => isApprovalOf(found, answer.batch.id) });
    return out.path;
  }
  const path = approvalFile(settings, answer.batch.id);
  makePrivateDirectory(dirname(path), 'ERR_CONFIG_INVALID');
  writeFileAtomic(path, text, 'ERR_INPUT_INVALID', { mode: 0o600 });
  return path;
}

function isApprovalOf(text: string, batchId: string): boolean {
  try {
    return readApprovalFile({ name: 'the file', text }).batch.id === batchId;
  } catch {
    return false;
  }
}
