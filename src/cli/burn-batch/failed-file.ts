/** The elements of a burn-batch that failed, as a file that can be corrected and sent. */
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { Session } from '../command.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';

/** In the form of the file's name: a JSON array, or one object a line; no file where none failed. @throws `ERR_INPUT_INVALID` */
export function writeFailed(session: Session, file: OutputFile, burns: readonly BurnRequest[]): void {
  if (burns.length === 0) {
    noteEarlier(session, file);
    return;
  }
  const lines = burns.map((burn) => JSON.stringify(burn));
  const isLines = /\.(ndjson|jsonl)$/i.test(file.path);
  writeOutput(file, isLines ? lines.map((line) => `${line}\n`).join('') : `[${lines.join(',\n')}]\n`);
}
