/**
 * Who may write: of one project one transaction of this process at a time, in the order of asking, so that those who wait for a
 * busy project keep no connection from others. Between processes the locks of the database decide.
 */
import type { DatabaseConnection, Driver, Kysely, TransactionSettings } from 'kysely';
import type { OfProject } from '../store.js';
import type { Tables } from '../tables.js';
import { createTurns, type Turns } from '../turns.js';
import { kyselyOver, type PostgresConnection, type PostgresDriver } from './driver.js';
import { lockedTooLong } from './errors.js';

/** Those who write a project, or the whole store, and those who wait to. */
interface Line {
  readonly turns: Turns;
  people: number;
}

/** For one transaction. */
class ProjectDriver implements Driver {
  readonly #driver: PostgresDriver;
  readonly #line: Lines;
  readonly #of: OfProject | undefined;

  constructor(driver: PostgresDriver, lines: Lines, of: OfProject | undefined) {
    this.#driver = driver;
    this.#line = lines;
    this.#of = of;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    await this.#line.enter(this.#of);
    try {
      return await this.#driver.acquireConnection();
    } catch (error) {
      this.#line.leave(this.#of);
      throw error;
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await this.#driver.releaseConnection(connection as PostgresConnection);
    this.#line.leave(this.#of);
  }

  beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    return this.#driver.begin(connection as PostgresConnection, settings, this.#of);
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.commitTransaction(connection as PostgresConnection);
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.rollbackTransaction(connection as PostgresConnection);
  }

  async destroy(): Promise<void> {}
}

class Lines {
  readonly #lines = new Map<string, Line>();
  readonly #create: () => Turns;

  constructor(create: () => Turns) {
    this.#create = create;
  }

  /** Who takes single rows of any project waits for nobody. */
  async enter(of: OfProject | undefined): Promise<void> {
    if (of?.tokenId === null) return;
    const name = nameOf(of);
    const line = this.#lines.get(name) ?? { turns: this.#create(), people: 0 };
    this.#lines.set(name, line);
    line.people += 1;
    try {
      await line.turns.take();
    } catch (error) {
      this.#goAway(name, line);
      throw error;
    }
  }

  leave(of: OfProject | undefined): void {
    const name = nameOf(of);
    const line = of?.tokenId === null ? undefined : this.#lines.get(name);
    if (line === undefined) return;
    line.turns.give();
    this.#goAway(name, line);
  }

  #goAway(name: string, line: Line): void {
    line.people -= 1;
    if (line.people === 0) this.#lines.delete(name);
  }
}

const nameOf = (of: OfProject | undefined): string => (of === undefined ? 'store' : `project ${of.tokenId}`);

/** @returns for one transaction of whoever is named, kysely over a connection of its own. */
export function createWriters(
  driver: PostgresDriver,
  { place, busyTimeoutMs }: { readonly place: string; readonly busyTimeoutMs: number },
): (of?: OfProject) => Kysely<Tables> {
  const lines = new Lines(() =>
    createTurns(busyTimeoutMs, () =>
      lockedTooLong(
        place,
        busyTimeoutMs,
        'earlier transactions of this process, which may wait for the database themselves',
      ),
    ),
  );
  return (of) => kyselyOver(new ProjectDriver(driver, lines, of));
}
