/** Maps errors of PostgreSQL and its connection to flywheel errors, and checks the address's TLS options. */

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { statementFailed, storeUnavailable } from '../errors.js';

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}

/** 55P03 lock_not_available: `lock_timeout` passed. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03';

const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** SQLSTATE classes of a server that cannot serve now: connection, resources, operator intervention, system and internal errors. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58', 'XX']);
/** Single states with the same meaning: idle too long, deadlock, serialization failure, no database, login refused. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  '25P03',
  '25P04',
  '40P01',
  '40001',
  '3D000',
  '28P01',
  '28000',
]);

/** Class 23: integrity constraint violation; triggers raise it too. */
const isRefusedRow = (error: unknown): boolean => codeOf(error).startsWith('23');

/** @returns whether the connection is unusable. Network errors have no SQLSTATE; the server closes the connection with some of its own. */
export function isBroken(error: unknown): boolean {
  const code = codeOf(error);
  if (isFlywheelError(error)) return false;
  // After a failover a new connection may reach the new primary.
  // Every SQLSTATE has a digit; node's codes of the same length, such as EPIPE, have none.
  return !/^(?=.*\d)[0-9A-Z]{5}$/.test(code) || isReadOnly(error) || /^(?:08|57P0[1-5]|25P0[34])/.test(code);
}

export const takesNoWrites = (place: string, cause?: unknown): FlywheelError =>
  storeUnavailable(place, 'accepts no writes', {
    hint: 'The database is a standby or read-only (`default_transaction_read_only`). Use the primary, or wait until this database accepts writes.',
    cause,
  });

export const commitUnknown = (place: string, cause: unknown): FlywheelError =>
  storeUnavailable(place, 'was lost during a commit, whose outcome is unknown', {
    hint: 'Run the same command again when the database answers. Nothing happens twice.',
    cause,
  });

interface Lack {
  /** Completes "The database …" or "The store …". */
  readonly what: string;
  readonly hint: string;
}

/** Objects that are missing, or exist and belong to another program. The version was checked before, so the statement itself is right. */
const OTHER_OBJECTS: ReadonlySet<string> = new Set([
  ...['42P01', '42703', '42809', '3F000'],
  ...['42P06', '42P07', '42710', '42723', '42701'],
]);

/** Object names in the server's English messages. */
const REFUSED_OBJECT = /(?:permission denied for|must be owner of|policy for) (\w+) "?([^"]+)"?$/;
const OBJECT = /(relation|column|schema|trigger|function|table) "?([^" ]+)"? /;

const named = (error: unknown, names: RegExp): string | undefined => {
  const [, kind, name] = (error instanceof Error ? names.exec(error.message) : null) ?? [];
  return kind === undefined ? undefined : `${kind === 'relation' ? 'table' : kind} ${name}`;
};

/** @returns `undefined` if the error is not about rights, tables or TLS */
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
 * `ERR_STORE_UNAVAILABLE` if the server, its connection or its set-up failed, `ERR_INTERNAL` if a statement did. Server messages stay in
 * the cause: they may contain private data.
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

/** Without sslmode nothing is encrypted. libpq's `allow` is missing: there the server decides whether to encrypt. */
const MODES: readonly string[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
const FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;
const OPTIONS: ReadonlySet<string> = new Set(['ssl', 'sslmode', 'sslnegotiation', ...FILES]);

const refused = (sentence: string, hint: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', sentence, { hint, cause });

/** Unreadable or wrong files would fail on every connection. Errors name the option, not the path. */
function checkFiles(options: URLSearchParams): void {
  const named = FILES.filter((option) => options.has(option));
  try {
    const [ca, cert, key] = FILES.map((option) =>
      named.includes(option) ? readFileSync(options.get(option) ?? '') : undefined,
    );
    createSecureContext({ ca, cert, key });
  } catch (cause) {
    throw refused(
      `A file of ${named.join(', ')} in the database address cannot be read or has wrong content.`,
      'Use readable PEM files: the certificates, and the key of that certificate without a password.',
      cause,
    );
  }
}

/** A typo in a TLS option would silently change the protection. @throws `ERR_CONFIG_INVALID` */
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

const NOT_BELIEVED =
  /^(?:CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;
/** pg's message; it has no code. */
const WITHOUT_TLS = /does not support SSL connections/;

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
