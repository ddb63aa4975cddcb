/** Project names: their format, and the name derived from a token symbol. */

/** Fits into a DNS label; no character needs quoting in a shell or URL. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const PROJECT_NAME_RULE = 'small letters, digits and hyphens, 1 to 63 of them';

export const isProjectName = (text: string): boolean => NAME.test(text);

/** The symbol of a token as a project name; `undefined` if no valid character remains. */
export function projectNameOf(symbol: string): string | undefined {
  const slug = symbol
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return isProjectName(slug) ? slug : undefined;
}
