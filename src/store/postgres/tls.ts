/** TLS on the way to a database: the options of libpq that ask for it, and what it fails with. */
import { createSecureContext } from 'node:tls';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem, readIfThere } from '../../files/read-file.js';

/** Without one nothing is encrypted. `allow` of libpq is left out: what goes over such a connection is for the server to decide. */
const MODES: readonly string[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
const FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;
const OPTIONS: ReadonlySet<string> = new Set(['ssl', 'sslmode', 'sslnegotiation', ...FILES]);

const refused = (sentence: string, hint: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', sentence, { hint, cause });

/** Of a file nothing is said but the option that names it. */
function readOption(options: URLSearchParams, option: string): string | undefined {
  const path = options.get(option);
  if (path === null) return undefined;
  const unreadable = (problem: string, cause?: unknown): FlywheelError =>
    refused(
      `The file that ${option} of the address of the database names cannot be read: ${problem}.`,
      'Name a readable file on this machine.',
      cause,
    );
  try {
    const text = readIfThere(path);
    if (text !== undefined) return text;
  } catch (cause) {
    throw unreadable(fileProblem(cause), cause);
  }
  throw unreadable('there is none');
}

/** Files that hold something else would fail each connection anew. */
function checkFiles(options: URLSearchParams): void {
  const [ca, cert, key] = FILES.map((option) => readOption(options, option));
  try {
    createSecureContext({ ca, cert, key });
  } catch (cause) {
    throw refused(
      `A file of ${FILES.filter((option) => options.has(option)).join(', ')} of the address of the database does not hold what it has to.`,
      'Certificates and key are in PEM, the key without a password and of that certificate.',
      cause,
    );
  }
}

/** A slip in these would mean another protection than the one that was meant. @throws `ERR_CONFIG_INVALID` */
export function checkTlsOptions(options: URLSearchParams): void {
  for (const name of options.keys())
    if (name.startsWith('ssl') && !OPTIONS.has(name))
      throw refused(
        'The address of the database has an option for TLS that does not exist.',
        `They are ${[...OPTIONS].join(', ')}.`,
      );
  const mode = options.get('sslmode');
  if (mode !== null && !MODES.includes(mode))
    throw refused(
      'The address of the database has an sslmode that does not exist.',
      `It is one of ${MODES.join(', ')}.`,
    );
  if (FILES.some((option) => options.has(option))) checkFiles(options);
  if (mode === 'verify-ca' && !options.has('sslrootcert'))
    throw refused(
      'sslmode=verify-ca of the address of the database needs sslrootcert.',
      'Name the file of the authority whose certificates count, or use sslmode=verify-full.',
    );
}

/** What OpenSSL and Node.js call a certificate that is not believed. */
const NOT_BELIEVED =
  /^(?:CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;
/** The driver has no code for it. */
const WITHOUT_TLS = /does not support SSL connections/;

/** What is wrong with the protection that was asked for, as what the database does; `undefined` for all other errors. */
export function tlsProblemOf(error: unknown): { readonly what: string; readonly hint: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string' && NOT_BELIEVED.test(code))
    return {
      what: `has a certificate that is not trusted (${code})`,
      hint: 'Name the authority that signed it with sslrootcert, and the server as its certificate does.',
    };
  if (code === undefined && WITHOUT_TLS.test(error.message))
    return {
      what: 'does not speak TLS, but its address requires it',
      hint: 'Turn on `ssl` in the server. On a private network you may remove sslmode from the address instead.',
    };
  return undefined;
}
