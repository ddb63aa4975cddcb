/** Names of the projects of a database: what one may be called, and what it is called where nobody says. */

/** Short enough for a label anywhere, and without anything that a shell or a URL would take for something else. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** What a name has to look like, in words. */
export const PROJECT_NAME_RULE = 'small letters, digits and hyphens, 1 to 63 of them';

export const isProjectName = (text: string): boolean => NAME.test(text);

/** The symbol of a token as a name; `undefined` where nothing of it can stay. */
export function projectNameOf(symbol: string): string | undefined {
  const slug = symbol
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return isProjectName(slug) ? slug : undefined;
}
