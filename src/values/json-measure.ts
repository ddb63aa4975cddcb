/** What a JSON text holds, counted before anything of it is built: a few megabytes of brackets take a hundred times their size once they are values. */

/** Counts; whether the text is JSON at all is not decided here. */
interface JsonMeasure {
  /** Values of any kind, at any depth. */
  readonly values: number;
  readonly objects: number;
  /** Levels of lists and objects. */
  readonly depth: number;
  /** Of the largest list or object. */
  readonly members: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Counts to the end, or until it is deeper than that: an empty list or object counts as if it held something. */
export function measureJson(text: string, maxDepth = Number.POSITIVE_INFINITY): JsonMeasure {
  let [values, objects, depth, deepest, members] = [1, 0, 0, 0, 0];
  /** Members so far of each list or object that is open. */
  const open = [1];
  for (let at = 0; at < text.length && deepest <= maxDepth; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) {
      values += 1;
      const more = (open[depth] ?? 1) + 1;
      open[depth] = more;
      members = Math.max(members, more);
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      values += 1;
      objects += Number(code === OPEN_OBJECT);
      depth += 1;
      open[depth] = 1;
      deepest = Math.max(deepest, depth);
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth = Math.max(0, depth - 1);
  }
  return { values, objects, depth: deepest, members };
}

/** Where the string that opens at `start` ends; at the end of the text when it does not. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
