/** The approval that was issued, from wherever the user has it: the response of init, its bare base64, or the service. */

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Settings } from '../../compose/settings.js';
import type { Batch, InitBatchResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { approvalDirectory } from '../../files/directories.js';
import { makePrivateDirectory, writeFileAtomic } from '../../files/write-file.js';
import { isAddress } from '../../values/address.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { isUuid, type Uuid } from '../../values/uuid.js';
import type { Session } from '../command.js';
import { inInput, inputError, readInputText, requireKind } from '../input/read-input.js';
import { type OutputFile, writeOutput } from '../output/output-file.js';
import { callWith, isNotOffered } from '../send.js';
import { refuse } from './pins.js';

/** Which batch, as the service calls it and as the chain does. */
export interface BatchName {
  readonly id: Uuid;
  /** As the service says; what is pinned wins over it. */
  readonly multisig: string;
  readonly batchIndex: bigint;
}

/** An approval as it was issued; nothing of it has been checked. */
export interface IssuedApproval {
  readonly wire: Uint8Array;
  readonly batch: BatchName;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Bytes of base64 text. @throws `ERR_INPUT_INVALID` */
export function decodeBase64(name: string, text: string): Uint8Array {
  if (text === '' || text.length % 4 !== 0 || !BASE64.test(text)) throw inputError(name, 'expected base64');
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

/** Numbers of batches are u64. */
export const MAX_BATCH_INDEX = 2n ** 64n - 1n;

export const isBatchIndex = (index: bigint): boolean => index >= 1n && index <= MAX_BATCH_INDEX;

/** @throws `ERR_APPROVAL_REFUSED` for a number that no batch can have. */
function indexOf(text: string): bigint {
  const index = BigInt(text);
  if (isBatchIndex(index)) return index;
  throw refuse(`Expected a batch index from 1 to ${MAX_BATCH_INDEX}, got ${text}.`);
}

/** A batch of the service as a name. @throws `ERR_RESPONSE_INVALID` */
export function batchName(batch: Pick<Batch, 'id' | 'multisig' | 'batchIndex'>): BatchName {
  if (!/^[0-9]{1,20}$/.test(batch.batchIndex))
    throw new FlywheelError(
      'ERR_RESPONSE_INVALID',
      `Batch ${batch.id} has no index yet: its set-up is not finished.`,
    );
  return { id: batch.id as Uuid, multisig: batch.multisig, batchIndex: indexOf(batch.batchIndex) };
}

/**
 * Reads what `batch approve` is given: the id of a batch, the approval file that init wrote, base64, or `-` for either on
 * standard input.
 * @throws `ERR_INPUT_INVALID` naming what is wrong.
 */
export async function readApproval(session: Session, source: string): Promise<IssuedApproval> {
  const { context } = session;
  if (isUuid(source)) return freshApproval(session, source.toLowerCase() as Uuid);
  const isText = source !== '-' && !existsSync(resolve(context.cwd, source)) && isBareBase64(source);
  const { name, text } = isText
    ? { name: 'the approval', text: source }
    : await readInputText(context, source);
  const trimmed = text.trim();
  if (/^[{[]/.test(trimmed)) return readApprovalFile(name, trimmed);
  const wire = decodeBase64(name, trimmed);
  return { wire, batch: await currentBatchName(session) };
}

/** A fresh approval, from the service; from a file of an earlier init where it gives out none. */
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
    if (!isNotOffered(error) || !existsSync(path)) throw error;
    const { name, text } = await readInputText(session.context, path);
    return readApprovalFile(name, text.trim());
  }
}

/** Long enough for a transaction; a shorter word is the name of a file that is missing. */
const isBareBase64 = (source: string): boolean => source.length > 200 && BASE64.test(source);

function readApprovalFile(name: string, text: string): IssuedApproval {
  const { value } = inInput(name, () => parseStrictJson(text));
  requireKind(name, value, 'an approval file');
  const batch = isJsonObject(value) ? value['batch'] : undefined;
  if (!isJsonObject(value) || !isJsonObject(batch))
    throw inputError(name, 'expected an approval file, as `batch init --out` writes it');
  const { id, multisig, batchIndex } = batch;
  const approval = value['proposalApproveTx'];
  if (typeof id !== 'string' || !isUuid(id)) throw inputError(name, 'batch.id: expected a UUID');
  if (typeof multisig !== 'string' || !isAddress(multisig))
    throw inputError(name, 'batch.multisig: expected an address');
  if (typeof batchIndex !== 'string' || !/^[0-9]{1,20}$/.test(batchIndex))
    throw inputError(name, 'batch.batchIndex: expected a whole number as text');
  if (typeof approval !== 'string') throw inputError(name, 'proposalApproveTx: expected base64');
  return {
    wire: decodeBase64(`${name}: proposalApproveTx`, approval),
    batch: { id, multisig, batchIndex: indexOf(batchIndex) },
  };
}

/** Bare base64 does not say which batch it is of; the current one is asked for and the check holds it against that. */
async function currentBatchName(session: Session): Promise<BatchName> {
  const opened = await session.service();
  const { value } = await opened.service.currentBatch(callWith(session, opened));
  if (value !== null) return batchName(value);
  throw new FlywheelError('ERR_INPUT_INVALID', 'No batch is waiting for approval.', {
    hint: 'Name the approval file of the batch, from `batch init --out`.',
  });
}

/** The file of a batch whose approval nobody named a file for. */
const approvalFile = ({ apiUrl, dataDir, configDir }: Settings, batchId: string): string =>
  join(approvalDirectory(apiUrl.value === null ? dataDir.value : configDir.value), `${batchId}.json`);

/** @returns the path. @throws `ERR_INPUT_INVALID` naming it and why it cannot be written. */
export function writeApproval(settings: Settings, answer: InitBatchResult, out: OutputFile | null): string {
  const text = `${JSON.stringify(answer)}\n`;
  if (out !== null) {
    writeOutput(out, text, { isPublic: true, isAsGood: (found) => batchIdIn(found) === answer.batch.id });
    return out.path;
  }
  const path = approvalFile(settings, answer.batch.id);
  makePrivateDirectory(dirname(path), 'ERR_CONFIG_INVALID');
  writeFileAtomic(path, text, 'ERR_INPUT_INVALID', { mode: 0o600 });
  return path;
}

/** Whose approval a file holds, if it is one. */
function batchIdIn(text: string): unknown {
  try {
    return (JSON.parse(text) as Partial<InitBatchResult>).batch?.id;
  } catch {
    return undefined;
  }
}
