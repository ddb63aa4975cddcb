/** The address of a PostgreSQL database, as libpq takes it: whether it is one, and what of it may be shown. */

/** @returns `undefined` for what is no `postgres://…`. */
function parsed(text: string): URL | undefined {
  const isPostgres = /^postgres(?:ql)?:\/\//i.test(text);
  return isPostgres && URL.canParse(text) ? new URL(text) : undefined;
}

/** Where the database is, without user, password and options, which may hold secrets; `null` for what is no such address. */
export function databasePlace(text: string): string | null {
  const url = parsed(text);
  if (url === undefined) return null;
  // A socket of this machine is named by its directory.
  const host = url.hostname === '' ? encodeURIComponent(url.searchParams.get('host') ?? '') : url.host;
  return `postgres://${host}${url.pathname}`;
}
