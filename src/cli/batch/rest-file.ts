/** The pipelines that did not land, as a file that can be corrected and run. */
import type { Pipeline } from '../../contract/schemas/batch.js';
import { writeFileAtomic } from '../../files/write-file.js';

/** @throws `ERR_INPUT_INVALID` naming the file and why it cannot be written. */
export function writeRest(path: string, pipelines: readonly Pipeline[], indexes: readonly number[]): void {
  const left = indexes.flatMap((index) => pipelines.slice(index, index + 1));
  writeFileAtomic(path, `${JSON.stringify({ pipelines: left }, null, 1)}\n`, 'ERR_INPUT_INVALID', {
    mode: 0o600,
  });
}
