/** What kysely's PostgreSQL dialect is given: connections of a pool, with failures and values as the store knows them. */
import { Kysely, PostgresDialect, type PostgresPoolClient, type PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { toCell } from '../columns.js';
import { lockedTooLong, storeUnavailable } from '../errors.js';
import type { Tables } from '../schema.js';
import { RecordPlugin } from '../session.js';
import { commitUnknown, isBroken, isLockTimeout, isReadOnly, takesNoWrites, toStoreError } from './errors.js';

interface ClientTerms {
  /** Named in errors; without secrets. */
  readonly place: string;
  /** For how long to wait for a lock. */
  readonly busyTimeoutMs: number;
  /** Is it for snapshots only? */
  readonly isReader?: boolean;
  /** Is nothing read either of a database that takes no writes? What a standby says may be old. */
  readonly mustWrite?: boolean;
}

/** A connection for as long as one transaction has it. */
class StoreClient implements Pick<PostgresPoolClient, 'release'> {
  readonly #client: PoolClient;
  readonly #terms: ClientTerms;
  #isBroken = false;
  readonly #onError = (): void => {
    this.#isBroken = true;
  };

  constructor(client: PoolClient, terms: ClientTerms) {
    this.#client = client;
    this.#terms = terms;
    // A connection that ends while nothing is asked on it says so by an event, which would end the process.
    client.on('error', this.#onError);
  }

  release(): void {
    this.#client.off('error', this.#onError);
    this.#client.release(this.#isBroken);
  }

  async query<Result>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Result>> {
    // Without its connection the server rolls back by itself.
    if (sql === 'rollback' && this.#isBroken) return { command: 'ROLLBACK', rowCount: 0, rows: [] } as never;
    const { place } = this.#terms;
    try {
      const result = await this.#client.query(sql, parameters.map(toCell));
      // What failed before within the transaction has undone it, whether or not somebody has caught that failure.
      if (sql === 'commit' && result.command === 'ROLLBACK')
        throw storeUnavailable(place, 'rolled the transaction back after an earlier failure');
      // A standby, or set to be read only: the connection that was told so is not used again.
      if (this.#terms.mustWrite === true && result.rows[0]?.refuses === true) {
        this.#isBroken = true;
        throw takesNoWrites(place);
      }
      return result as unknown as PostgresQueryResult<Result>;
    } catch (error) {
      throw this.#translated(error, sql);
    }
  }

  #translated(error: unknown, sql: string): FlywheelError {
    const { place, busyTimeoutMs, isReader } = this.#terms;
    const isLost = isBroken(error);
    this.#isBroken ||= isLost;
    // It may be stored or not: whoever wrote it finds out under the key of the request.
    if (sql === 'commit' && isLost) return commitUnknown(place, error);
    if (isReader === true && isReadOnly(error))
      return new FlywheelError('ERR_INTERNAL', 'A read of the store tried to write.', { cause: error });
    if (isLockTimeout(error)) return lockedTooLong(place, busyTimeoutMs, 'another process', error);
    return toStoreError(error, place);
  }
}

/** kysely over the connections of a pool. */
export const kyselyOver = (pool: Pool, terms: ClientTerms): Kysely<Tables> =>
  new Kysely({
    dialect: new PostgresDialect({
      pool: {
        connect: async () => {
          try {
            return new StoreClient(await pool.connect(), terms) as unknown as PostgresPoolClient;
          } catch (error) {
            throw toStoreError(error, terms.place);
          }
        },
        end: () => pool.end(),
      },
    }),
    plugins: [new RecordPlugin()],
  });
