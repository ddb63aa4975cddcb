/** The database address from the settings: read on first use, never shown with its password. */
import { FlywheelError } from '../errors/flywheel-error.js';

export class DatabaseAddress {
  /** Variable, option or profile setting, for messages. */
  readonly name: string;
  /** The file that contains the address; `null` if the setting contains it. */
  readonly file: string | null;
  readonly #read: () => string;
  #url: string | undefined;

  constructor(name: string, read: () => string, file: string | null = null) {
    this.name = name;
    this.#read = read;
    this.file = file;
  }

  /** The full address, for connecting only. @throws `ERR_CONFIG_INVALID` */
  reveal(): string {
    this.#url ??= this.#checked();
    return this.#url;
  }

  /** Host, port and database name. @throws `ERR_CONFIG_INVALID` */
  get shown(): string {
    return databasePlace(this.reveal()) ?? '';
  }

  #checked(): string {
    const url = this.#read().trim();
    if (databasePlace(url) !== null) return url;
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `${this.name} must be the address of a PostgreSQL database, postgres://user@host:port/name.`,
      { hint: 'Write special characters of the password as %XX.' },
    );
  }
}

/** `undefined` unless the text is a `postgres://…` URL. */
function parsed(text: string): URL | undefined {
  const isPostgres = /^postgres(?:ql)?:\/\//i.test(text);
  const url = isPostgres && URL.canParse(text) ? new URL(text) : undefined;
  // A `/` in a password ends the host, so the rest of the password lands in the path.
  return url?.pathname.includes('@') === true ? undefined : url;
}

/** The address without user, password and options, which may contain secrets; `null` for an invalid address. */
export function databasePlace(text: string): string | null {
  const url = parsed(text);
  if (url === undefined) return null;
  // A local socket is identified by its directory.
  const host = url.hostname === '' ? encodeURIComponent(url.searchParams.get('host') ?? '') : url.host;
  return `postgres://${host}${url.pathname}`;
}
