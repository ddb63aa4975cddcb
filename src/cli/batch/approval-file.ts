/** Where the approval of a batch is put: where the user says, else among the approvals of the flywheel. */
import { join } from 'node:path';
import type { SourcePipeline } from '../../actions/pipelines.js';
import type { InitBatchResult } from '../../contract/schemas/batch.js';
import { approvalDirectory } from '../../files/directories.js';
import { makePrivateDirectory, writeFileAtomic } from '../../files/write-file.js';
import type { Settings } from '../config/settings.js';

const withPipelines = (answer: InitBatchResult, pipelines: readonly SourcePipeline[]): string =>
  JSON.stringify({
    ...answer,
    pipelines: pipelines.map(({ type, proofHash, actions }) => ({ type, hash: proofHash, actions })),
  });

/** The file of a batch whose approval nobody named a file for. */
export const approvalFile = ({ apiUrl, dataDir, configDir }: Settings, batchId: string): string =>
  join(approvalDirectory(apiUrl.value === null ? dataDir.value : configDir.value), `${batchId}.json`);

/** @returns the path. @throws `ERR_INPUT_INVALID` naming it and why it cannot be written. */
export function writeApproval(
  settings: Settings,
  answer: InitBatchResult,
  pipelines: readonly SourcePipeline[],
  out: string | null,
): string {
  const path = out ?? approvalFile(settings, answer.batch.id);
  if (out === null)
    makePrivateDirectory(
      approvalDirectory(settings.apiUrl.value === null ? settings.dataDir.value : settings.configDir.value),
      'ERR_CONFIG_INVALID',
    );
  writeFileAtomic(
    path,
    `${withPipelines(answer, pipelines)}\n`,
    'ERR_INPUT_INVALID',
    out === null ? { mode: 0o600 } : {},
  );
  return path;
}
