/** The address of the database that the settings name: read when it is first needed, and never shown with its password. */
import { FlywheelError } from '../errors/flywheel-error.js';

export class DatabaseAddress {
  /** What names it: a variable, an option or a setting of the profile. */
  readonly name: string;
  /** Is it meant for flywheel? The variable that other programs look at as well may be meant for them. */
  readonly isOwn: boolean;
  /** The file that holds it; `null` where it stands itself. */
  readonly file: string | null;
  readonly #read: () => string;
  #url: string | undefined;

  constructor(
    name: string,
    read: () => string,
    { isOwn = true, file = null }: Partial<Pick<DatabaseAddress, 'isOwn' | 'file'>> = {},
  ) {
    this.name = name;
    this.#read = read;
    this.isOwn = isOwn;
    this.file = file;
  }

  /** The whole address, for the one place that connects. @throws `ERR_CONFIG_INVALID` */
  reveal(): string {
    this.#url ??= this.#checked();
    return this.#url;
  }

  /** Host, port and name of the database. @throws `ERR_CONFIG_INVALID` */
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

/** @returns `undefined` for what is no `postgres://…`. */
function parsed(text: string): URL | undefined {
  const isPostgres = /^postgres(?:ql)?:\/\//i.test(text);
  const url = isPostgres && URL.canParse(text) ? new URL(text) : undefined;
  // A password with a / in it ends the host, and stands in the path.
  return url?.pathname.includes('@') === true ? undefined : url;
}

/** Where the database is, without user, password and options, which may hold secrets; `null` for what is no such address. */
export function databasePlace(text: string): string | null {
  const url = parsed(text);
  if (url === undefined) return null;
  // A socket of this machine is named by its directory.
  const host = url.hostname === '' ? encodeURIComponent(url.searchParams.get('host') ?? '') : url.host;
  return `postgres://${host}${url.pathname}`;
}
