/** A key with all that hangs on it, in one statement: every call of the service begins with it. */
import { type Selectable, sql } from 'kysely';
import { invariant } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { compileOnce, type Session } from '../session.js';
import type { KeyWithProject } from '../store.js';
import type { Tables } from '../tables.js';
import { MOVED_TABLES } from '../transfer/tables.js';
import { toApiKey } from './api-keys.js';
import { toFlywheel } from './flywheels.js';
import { toToken } from './tokens.js';

type Part = 'api_keys' | 'tokens' | 'flywheels';
type Row = Readonly<Record<string, unknown>>;

function columnsOf(part: Part): readonly string[] {
  const table = MOVED_TABLES.find(({ name }) => name === part);
  invariant(table !== undefined, `The columns of ${part} are listed.`);
  return Object.keys(table.columns);
}

const COLUMNS: Readonly<Record<Part, readonly string[]>> = {
  api_keys: columnsOf('api_keys'),
  tokens: columnsOf('tokens'),
  flywheels: columnsOf('flywheels'),
};

/** Columns of several tables have the same names. */
const nameOf = (part: Part, column: string): string => `${part}_${column}`;

const statement = (hash: Sha256) => {
  const list = (Object.keys(COLUMNS) as Part[]).flatMap((part) =>
    COLUMNS[part].map((column) => sql`${sql.ref(`${part}.${column}`)} as ${sql.id(nameOf(part, column))}`),
  );
  return sql<Row>`select ${sql.join(list)} from api_keys
    left join tokens on tokens.id = api_keys.token_id
    left join flywheels on flywheels.token_id = api_keys.token_id
    where api_keys.hash = ${hash}`;
};

/** @returns `undefined` where there is no such row. */
function rowOf<Name extends Part>(row: Row, part: Name): Selectable<Tables[Name]> | undefined {
  if (row[nameOf(part, 'id')] === null) return undefined;
  const cells = COLUMNS[part].map((column) => [column, row[nameOf(part, column)]]);
  return Object.fromEntries(cells) as Selectable<Tables[Name]>;
}

export async function keyWithProject(session: Session, hash: Sha256): Promise<KeyWithProject | undefined> {
  const query = compileOnce<Row>(session, 'key with project', () => statement(hash).compile(session.db));
  const [row] = (await session.db.executeQuery<Row>({ ...query, parameters: [hash] })).rows;
  const key = row && rowOf(row, 'api_keys');
  if (row === undefined || key === undefined) return undefined;
  const token = rowOf(row, 'tokens');
  const flywheel = rowOf(row, 'flywheels');
  return { key: toApiKey(key), token: token && toToken(token), flywheel: flywheel && toFlywheel(flywheel) };
}
