/** What PostgreSQL, and the way to it, can fail with, as errors of this program; and what of TLS its address may ask for. */

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import { statementFailed, storeUnavailable } from '../errors.js';

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}

/** The server refuses to wait longer for a lock. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03';

/** The statement would write, and the transaction, or the whole database, may only be read. */
const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** Classes of SQLSTATE that say that the server cannot serve now: no connection, no resources, stopped by somebody, broken. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58', 'XX']);
/** The same of single states: too long idle, a deadlock, transactions that do not go together. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  '25P03',
  '25P04',
  '40P01',
  '40001',
  '3D000',
  '28P01',
  '28000',
]);

/** An integrity constraint, or a rule that a trigger keeps. */
const isRefusedRow = (error: unknown): boolean => codeOf(error).startsWith('23');

/**
 * Is the connection of no use any more, whatever was asked on it? Errors of the network have no SQLSTATE; the server ends the
 * connection with some of those that it sends.
 */
export function isBroken(error: unknown): boolean {
  const code = codeOf(error);
  if (isFlywheelError(error)) return false;
  // Of a database that was made a standby the next connection may lead to the one that took its place.
  return !/^[0-9A-Z]{5}$/.test(code) || isReadOnly(error) || /^(?:08|57P0[1-5]|25P0[34])/.test(code);
}

export const takesNoWrites = (place: string, cause?: unknown): FlywheelError =>
  storeUnavailable(place, 'accepts no writes', {
    hint: 'The database is a standby or read-only (`default_transaction_read_only`). Use the primary, or wait until this database accepts writes.',
    cause,
  });

/** The connection broke while a transaction was being committed, and nobody could be asked what became of it. */
export const commitUnknown = (place: string, cause: unknown): FlywheelError =>
  storeUnavailable(place, 'was lost during a commit, whose outcome is unknown', {
    hint: 'Run the same command again when the database answers. Nothing happens twice.',
    cause,
  });

/** What the database lacks until whoever runs it has changed that. */
interface Lack {
  /** Of the store or the database that the sentence begins with. */
  readonly what: string;
  readonly hint: string;
}

/**
 * Tables, columns, triggers or functions that are not there, or are there already and are another's: the schema has the version
 * that it has to have, or none yet, so that it is not this program's statement that is wrong.
 */
const OTHER_OBJECTS: ReadonlySet<string> = new Set([
  ...['42P01', '42703', '42809', '3F000'],
  ...['42P06', '42P07', '42710', '42723', '42701'],
]);

/** Names in the messages of the server, in the language that nearly all are set to. */
const REFUSED_OBJECT = /(?:permission denied for|must be owner of|policy for) (\w+) "?([^"]+)"?$/;
const OBJECT = /(relation|column|schema|trigger|function|table) "?([^" ]+)"? /;

const named = (error: unknown, names: RegExp): string | undefined => {
  const [, kind, name] = (error instanceof Error ? names.exec(error.message) : null) ?? [];
  return kind === undefined ? undefined : `${kind === 'relation' ? 'table' : kind} ${name}`;
};

/** @returns `undefined` for what is no lack of rights, of tables or of TLS. */
export function lackOf(error: unknown): Lack | undefined {
  const code = codeOf(error);
  if (code === '42501')
    return {
      what: `does not grant its user the rights that flywheel needs${of(named(error, REFUSED_OBJECT))}`,
      hint: 'Make the user the owner of the schema, or grant `usage` on the schema and `select, insert, update, delete` on all its tables. Only the owner can create or migrate the schema.',
    };
  if (OTHER_OBJECTS.has(code))
    return {
      what: `has no flywheel tables in the search path of its user${of(named(error, OBJECT))}`,
      hint: "flywheel's schema must come first in the `search_path` of user and database, the user needs `usage` on it, and it must not have tables of another program with the same names: `create schema flywheel`, `alter role … set search_path = flywheel`.",
    };
  return tlsProblemOf(error);
}

const of = (object: string | undefined): string => (object === undefined ? '' : ` (${object})`);

/**
 * What was thrown, as `ERR_STORE_UNAVAILABLE` where the server, the way to it or how it is set up is at fault, and `ERR_INTERNAL` where a
 * statement is. Messages of the server stay in the cause: they may name what nobody else should read.
 */
export function toStoreError(error: unknown, place: string): FlywheelError {
  if (isFlywheelError(error)) return error;
  if (isReadOnly(error)) return takesNoWrites(place, error);
  const lack = lackOf(error);
  if (lack !== undefined) return storeUnavailable(place, lack.what, { hint: lack.hint, cause: error });
  const code = codeOf(error);
  if (isBroken(error) || UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE.has(code))
    return storeUnavailable(place, 'cannot be reached, or is not ready', {
      hint: 'Check that PostgreSQL is running, that the address is right, and that its disk is not full.',
      cause: error,
    });
  return statementFailed(isRefusedRow(error), error);
}

/** Without one nothing is encrypted. `allow` of libpq is left out: what goes over such a connection is for the server to decide. */
const MODES: readonly string[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
const FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;
const OPTIONS: ReadonlySet<string> = new Set(['ssl', 'sslmode', 'sslnegotiation', ...FILES]);

const refused = (sentence: string, hint: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', sentence, { hint, cause });

/** Files that cannot be read, or hold something else, would fail each connection anew. Of one nothing is said but its option. */
function checkFiles(options: URLSearchParams): void {
  const named = FILES.filter((option) => options.has(option));
  const [ca, cert, key] = FILES.map((option) => {
    if (!named.includes(option)) return undefined;
    try {
      return readFileSync(options.get(option) ?? '');
    } catch (cause) {
      throw refused(
        `The file of ${option} in the database address cannot be read: ${fileProblem(cause)}.`,
        'Name a readable file on this machine.',
        cause,
      );
    }
  });
  try {
    createSecureContext({ ca, cert, key });
  } catch (cause) {
    throw refused(
      `A file of ${named.join(', ')} in the database address has wrong content.`,
      'Use PEM files: the certificates, and the key of that certificate without a password.',
      cause,
    );
  }
}

/** A slip in these would mean another protection than the one that was meant. @throws `ERR_CONFIG_INVALID` */
export function checkTlsOptions(options: URLSearchParams): void {
  for (const name of options.keys())
    if (name.startsWith('ssl') && !OPTIONS.has(name))
      throw refused(
        'The database address has an unknown TLS option.',
        `Known TLS options: ${[...OPTIONS].join(', ')}.`,
      );
  const mode = options.get('sslmode');
  if (mode !== null && !MODES.includes(mode))
    throw refused('The database address has an unknown sslmode.', `Known modes: ${MODES.join(', ')}.`);
  if (FILES.some((option) => options.has(option))) checkFiles(options);
  if (mode === 'verify-ca' && !options.has('sslrootcert'))
    throw refused(
      'sslmode=verify-ca in the database address needs sslrootcert.',
      'Set sslrootcert to the file of a certificate authority, or use sslmode=verify-full.',
    );
}

/** What OpenSSL and Node.js call a certificate that is not believed. */
const NOT_BELIEVED =
  /^(?:CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;
/** The driver has no code for it. */
const WITHOUT_TLS = /does not support SSL connections/;

/** What is wrong with the protection that was asked for, as what the database does; `undefined` for all other errors. */
function tlsProblemOf(error: unknown): Lack | undefined {
  const code = codeOf(error);
  if (NOT_BELIEVED.test(code))
    return {
      what: `has a certificate that is not trusted (${code})`,
      hint: 'Set sslrootcert to the authority that signed the certificate, and use the host name of the certificate.',
    };
  if (code === '' && error instanceof Error && WITHOUT_TLS.test(error.message))
    return {
      what: 'does not offer TLS, but its address requires TLS',
      hint: 'Turn on `ssl` in the server. On a private network, removing sslmode from the address also works.',
    };
  return undefined;
}
