/** How much there is in a JSON value, looked at no further than it matters: what is heavy is worked on in turns. */

/** What a list, an object or a scalar counts beside the characters in it. */
const BASE = 16;

/** Does a value hold more than so many characters, keys and values counted as some? Takes no longer than a light one is large. */
export const isHeavy = (value: unknown, characters: number): boolean => rest(value, characters) < 0;

/** What is left of so many characters once the value has taken its own; less than nothing when they do not do. */
function rest(value: unknown, characters: number): number {
  let left = characters - BASE;
  if (typeof value === 'string') return left - value.length;
  if (typeof value !== 'object' || value === null) return left;
  if (Array.isArray(value)) {
    for (const item of value) {
      left = rest(item, left);
      if (left < 0) break;
    }
    return left;
  }
  for (const key of Object.keys(value)) {
    left = rest((value as Readonly<Record<string, unknown>>)[key], left - key.length);
    if (left < 0) break;
  }
  return left;
}
