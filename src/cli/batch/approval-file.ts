/** Where the approval of a batch is put: where the user says, else among the approvals of the flywheel. */
import { dirname, join } from 'node:path';
import type { Settings } from '../../compose/settings.js';
import type { InitBatchResult } from '../../contract/schemas/batch.js';
import { approvalDirectory } from '../../files/directories.js';
import { makePrivateDirectory, writeFileAtomic } from '../../files/write-file.js';
import { type OutputFile, writeOutput } from '../output/output-file.js';

/** The file of a batch whose approval nobody named a file for. */
export const approvalFile = ({ apiUrl, dataDir, configDir }: Settings, batchId: string): string =>
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
