/** Tells whether anything was written to an SQLite file since the last look, by this process or another. */
import { FlywheelError } from '../errors/flywheel-error.js';
import { translateSqliteError } from '../files/sqlite-errors.js';

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
  try {
    const { default: Database } = await import('libsql');
    const database = new Database(path, { readonly: true });
    const statement = database.prepare('pragma data_version').raw();
    let known: number | undefined;
    const read = (): number => {
      try {
        return (statement.get() as readonly [number])[0];
      } catch (error) {
        throw translateSqliteError({ path, noun: 'store' }, error);
      }
    };
    return {
      version: () => {
        if (known === undefined) {
          known = read();
          // Requests of one turn of the event loop came in together; none of them can know of a later write.
          setImmediate(() => {
            known = undefined;
          });
        }
        return known;
      },
      close: () => void database.close(),
    };
  } catch (cause) {
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `The store ${path} cannot be opened.`, { cause });
  }
}
