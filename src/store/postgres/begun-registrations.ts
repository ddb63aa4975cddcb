/**
 * Registrations that have begun and are not stored yet: what each will take of the database is its own from before anything is
 * paid on the chain. A row stays however its process or its machine ends, because what it has paid for does; it goes when the
 * mint is stored.
 */
import type pg from 'pg';
import { isoTime } from '../../values/time.js';
import { asAddressProblem, createPool, placeOf } from './connection.js';
import { toStoreError } from './errors.js';

const CONNECT_TIMEOUT_MS = 5_000;

/** What a registration will take, and who began it. */
export interface BegunRegistration {
  /** Also kept where it was begun. */
  readonly id: string;
  readonly genesisHash: string;
  readonly mint: string;
  readonly name: string;
  readonly multisig: string;
  readonly vaultIndex: number;
  readonly actor: string;
}

/** What of two registrations cannot be the same, or not differ. */
export type Clash = 'mint' | 'name' | 'vault' | 'cluster';

/** One that is in the way of another. */
export interface ClashingRegistration extends BegunRegistration {
  readonly dateBegun: string;
  readonly clash: Clash;
}

export interface BegunRegistrations {
  /** The first that is in the way of this one. */
  findClash(wanted: BegunRegistration): Promise<ClashingRegistration | null>;
  /**
   * Notes it where none is in its way, once however often it is asked.
   * @param instead - id of one that gives way to it.
   * @returns what is in its way; nothing is noted then.
   */
  begin(wanted: BegunRegistration, instead: string | null): Promise<ClashingRegistration | null>;
  /** Is it neither stored nor given up for another? */
  isBegun(id: string): Promise<boolean>;
  forget(id: string): Promise<void>;
  close(): Promise<void>;
}

/** A database holds projects of one cluster, each with a mint, a name and a vault of its own. */
const CLASH = `select id, genesis, mint, name, multisig, vault_index, actor, extract(epoch from date_begun) * 1000 as begun_ms,
    case when mint = $2 then 'mint' when name = $3 then 'name' when multisig = $4 and vault_index = $5 then 'vault' else 'cluster' end as clash
  from begun_registrations
  where id <> $1 and (mint = $2 or name = $3 or (multisig = $4 and vault_index = $5) or genesis <> $6)
  order by date_begun, id limit 1`;

const BEGIN = `insert into begun_registrations (id, mint, name, multisig, vault_index, genesis, actor) values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (id) do update set mint = excluded.mint, name = excluded.name, multisig = excluded.multisig,
    vault_index = excluded.vault_index, genesis = excluded.genesis, actor = excluded.actor`;

interface ClashRow {
  readonly id: string;
  readonly genesis: string;
  readonly mint: string;
  readonly name: string;
  readonly multisig: string;
  readonly vault_index: number;
  readonly actor: string;
  readonly begun_ms: string;
  readonly clash: Clash;
}

const termsOf = ({ id, mint, name, multisig, vaultIndex, genesisHash }: BegunRegistration) => [
  id,
  mint,
  name,
  multisig,
  vaultIndex,
  genesisHash,
];

async function findClash(
  asked: Pick<pg.ClientBase, 'query'>,
  wanted: BegunRegistration,
): Promise<ClashingRegistration | null> {
  const { rows } = await asked.query<ClashRow>(CLASH, termsOf(wanted));
  const [row] = rows;
  if (row === undefined) return null;
  const { genesis, vault_index: vaultIndex, begun_ms, ...rest } = row;
  const dateBegun = isoTime(Math.floor(Number(begun_ms)));
  return { ...rest, genesisHash: genesis, vaultIndex, dateBegun };
}

/** Who begins is alone with the table, so that of two at once one finds the other. */
async function begin(
  client: pg.ClientBase,
  wanted: BegunRegistration,
  instead: string | null,
): Promise<ClashingRegistration | null> {
  await client.query(
    'begin isolation level read committed; lock table begun_registrations in exclusive mode',
  );
  if (instead !== null) await client.query('delete from begun_registrations where id = $1', [instead]);
  const clash = await findClash(client, wanted);
  if (clash === null) await client.query(BEGIN, [...termsOf(wanted), wanted.actor]);
  await client.query(clash === null ? 'commit' : 'rollback');
  return clash;
}

const ignore = (): void => undefined;

/** Of a database whose schema is up to date. Nothing is asked before the first call. */
export function openBegunRegistrations(url: string): BegunRegistrations {
  const place = placeOf(url);
  const pool = createPool(url, 1, CONNECT_TIMEOUT_MS);
  const ask = async <Answer>(question: (client: pg.ClientBase) => Promise<Answer>): Promise<Answer> => {
    let client: pg.PoolClient | undefined;
    let isBroken = true;
    try {
      client = await pool.connect();
      // A connection that ends between two statements says so by an event, which would end the process.
      client.on('error', ignore);
      const answer = await question(client);
      isBroken = false;
      return answer;
    } catch (error) {
      throw toStoreError(asAddressProblem(error, place), place);
    } finally {
      client?.off('error', ignore);
      // Without its connection the server rolls back whatever was not committed.
      client?.release(isBroken);
    }
  };
  return {
    findClash: (wanted) => ask((client) => findClash(client, wanted)),
    begin: (wanted, instead) => ask((client) => begin(client, wanted, instead)),
    isBegun: (id) =>
      ask(async (client) => {
        const found = await client.query('select 1 from begun_registrations where id = $1', [id]);
        return found.rows.length > 0;
      }),
    forget: (id) =>
      ask(async (client) => void (await client.query('delete from begun_registrations where id = $1', [id]))),
    close: () => pool.end(),
  };
}
