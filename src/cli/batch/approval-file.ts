/** Where the approval of a batch is put: where the user says, else among the approvals of the flywheel. */
import { join } from 'node:path';
import type { InitBatchResult } from '../../contract/schemas/batch.js';
import type { Settings } from '../config/settings.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';

/** The file of a batch whose approval nobody named a file for. */
export const approvalFile = ({ apiUrl, dataDir, configDir }: Settings, batchId: string): string =>
  join(approvalDirectory(apiUrl.value === null ? dataDir.value : configDir.value), `${batchId}.json`);

/** The approvals of a data or configuration directory. */
export const approvalDirectory = (directory: string): string => join(directory, 'approvals');

/** @returns the path. @throws `ERR_INPUT_INVALID` naming it and why it cannot be written. */
export function writeApproval(settings: Settings, answer: InitBatchResult, out: string | null): string {
  const path = out ?? approvalFile(settings, answer.batch.id);
  if (out === null)
    makePrivateDirectory(
      approvalDirectory(settings.apiUrl.value === null ? settings.dataDir.value : settings.configDir.value),
    );
  writeFileAtomic(path, `${JSON.stringify(answer)}\n`, out === null ? { mode: 0o600 } : {});
  return path;
}
