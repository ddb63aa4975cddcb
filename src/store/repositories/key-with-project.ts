/** A key with all that hangs on it, in one statement: every call of the service begins with it. */
import { type Selectable, sql } from 'kysely';
import { invariant } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { fromJson } from '../column-values.js';
import { compileOnce, type Session } from '../session.js';
import type { KeyWithProject } from '../store.js';
import type { Tables } from '../tables.js';
import { COPIED_TABLES } from '../transfer/tables.js';
import { toApiKey } from './api-keys.js';
import { toFlywheel } from './flywheels.js';
import { toToken } from './tokens.js';

type Part = 'api_keys' | 'tokens' | 'flywheels';
interface Row {
  readonly cells: string;
}

type Rows = { readonly [Name in Part]: Selectable<Tables[Name]> | undefined };

function columnsOf(part: Part): readonly string[] {
  const table = COPIED_TABLES.find(({ name }) => name === part);
  invariant(table !== undefined, `The columns of ${part} are listed.`);
  return Object.keys(table.columns);
}

const PARTS = ['api_keys', 'tokens', 'flywheels'] as const satisfies readonly Part[];
const COLUMNS = PARTS.map((part) => [part, columnsOf(part)] as const);

/** Keys that are remembered at most; with more, all are forgotten. */
const MAX_KNOWN = 4_096;

/** All cells as one text: it is handed over sooner than as many columns, and tells at once whether anything has changed. */
const statement = ({ locksRows }: Session, hash: Sha256) => {
  const cells = sql.join(
    COLUMNS.flatMap(([part, columns]) => columns.map((column) => sql.ref(`${part}.${column}`))),
  );
  const list = locksRows ? sql`json_build_array(${cells})::text` : sql`json_array(${cells})`;
  return sql<Row>`select ${list} as cells from api_keys
    left join tokens on tokens.id = api_keys.token_id
    left join flywheels on flywheels.token_id = api_keys.token_id
    where api_keys.hash = ${hash}`;
};

/** @returns the rows of the three tables; of one that has none, every cell is null. */
function rowsOf(text: string): Rows {
  const cells = fromJson<unknown[]>(text);
  let from = 0;
  const rows = COLUMNS.map(([part, columns]) => {
    const start = from;
    from += columns.length;
    const row = Object.fromEntries(columns.map((column, at) => [column, cells[start + at]]));
    return [part, row['id'] === null ? undefined : row];
  });
  return Object.fromEntries(rows) as Rows;
}

function decode(text: string): KeyWithProject {
  const { api_keys: key, tokens: token, flywheels: flywheel } = rowsOf(text);
  invariant(key !== undefined, 'A key that is found has a row.');
  return { key: toApiKey(key), token: token && toToken(token), flywheel: flywheel && toFlywheel(flywheel) };
}

/** Read anew each time; only what the very same text was decoded to is remembered. */
export async function keyWithProject(session: Session, hash: Sha256): Promise<KeyWithProject | undefined> {
  const query = compileOnce<Row>(session, 'key with project', () =>
    statement(session, hash).compile(session.db),
  );
  const [row] = (await session.db.executeQuery<Row>({ ...query, parameters: [hash] })).rows;
  if (row === undefined) return undefined;
  const { keys } = session;
  const known = keys.get(hash);
  if (known?.text === row.cells) return known.found;
  const found = decode(row.cells);
  if (keys.size >= MAX_KNOWN) keys.clear();
  keys.set(hash, { text: row.cells, found });
  return found;
}
