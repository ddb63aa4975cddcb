/** How much would be lost sight of with the address of a profile. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNAL_FILE } from '../../files/directories.js';
import { openSqliteFile } from '../../files/sqlite-file.js';
import { isEmptyJournal } from './schema.js';

/** Operations at an address whose outcome is not known or not printed, or whose batch waits. @throws `ERR_STORE_UNAVAILABLE` */
export async function countPending(configDir: string, address: string): Promise<number> {
  const path = join(configDir, JOURNAL_FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return 0;
  const file = await openSqliteFile({
    path,
    noun: 'journal',
    use: 'reader',
    create: false,
    inspect: (opened) => void isEmptyJournal(opened),
  });
  try {
    const count = file.prepare(
      `SELECT count(*) FROM operations o JOIN targets t ON t.id = o.target
       WHERE t.address = ? AND (o.state IN ('open', 'waiting') OR o.told = 0)`,
    );
    return Number(count.get([address])?.[0] ?? 0);
  } finally {
    file.close();
  }
}
