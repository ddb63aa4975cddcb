/** Tells whether anything was written to an SQLite file since the last look, by this process or another. */
import { openSqliteFile } from '../files/sqlite-file.js';

export interface StoreVersion {
  /** @throws `ERR_STORE_UNAVAILABLE` when the file cannot be read any more. */
  version(): number;
  close(): void;
}

/**
 * Opens a connection that only looks; `data_version` changes for it with every commit of any other connection
 * (https://www.sqlite.org/pragma.html#pragma_data_version).
 *
 * @throws `ERR_STORE_UNAVAILABLE` when the file cannot be opened.
 */
export async function openStoreVersion(path: string): Promise<StoreVersion> {
  const file = await openSqliteFile({ path, noun: 'store', use: 'reader', create: false });
  let known: number | undefined;
  return {
    version: () => {
      if (known === undefined) {
        known = file.number('pragma data_version');
        // Requests of one turn of the event loop came in together; none of them can know of a later write.
        setImmediate(() => {
          known = undefined;
        });
      }
      return known;
    },
    close: () => file.close(),
  };
}
