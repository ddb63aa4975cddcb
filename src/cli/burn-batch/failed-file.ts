/** The elements of a burn-batch that failed, as a file that can be corrected and sent. */
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { writeFileAtomic } from '../../files/write-file.js';

/** In the form of the file's name: a JSON array, or one object a line. @throws `ERR_INPUT_INVALID` */
export function writeFailed(file: string, burns: readonly BurnRequest[]): void {
  const lines = burns.map((burn) => JSON.stringify(burn));
  const isLines = /\.(ndjson|jsonl)$/i.test(file);
  writeFileAtomic(
    file,
    isLines ? lines.map((line) => `${line}\n`).join('') : `[${lines.join(',\n')}]\n`,
    'ERR_INPUT_INVALID',
    {
      mode: 0o600,
    },
  );
}
