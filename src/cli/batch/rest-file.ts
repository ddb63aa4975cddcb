/** The pipelines that did not land, as a file that can be corrected and run. */
import type { Pipeline } from '../../contract/schemas/batch.js';
import type { Session } from '../command.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';

/** Writes no file where all have landed. @throws `ERR_INPUT_INVALID` naming the file and why it cannot be written. */
export function writeRest(
  session: Session,
  file: OutputFile,
  pipelines: readonly Pipeline[],
  indexes: readonly number[],
): void {
  const left = indexes.flatMap((index) => pipelines.slice(index, index + 1));
  if (left.length === 0) {
    noteEarlier(session, file);
    return;
  }
  writeOutput(file, `${JSON.stringify({ pipelines: left }, null, 1)}\n`);
}
