/** NDJSON: one JSON value a line. */

import { pathText } from '../../contract/validate.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { jsonOffsets } from '../../values/json-places.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Element } from './element.js';
import type { Input } from './open-input.js';
import type { ElementPlace, Problems } from './problems.js';
import { inputError } from './read-input.js';

interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/** Every value of a file; a line that holds none is noted as a problem. */
export function* jsonLines(input: Input, problems: Problems): Generator<Element> {
  let index = 0;
  for (const [at, content] of input.text.split('\n').entries()) {
    const line: Line = { text: content, number: at + 1 };
    const text = content.trim();
    if (text === '') continue;
    if (index === 0 && text.startsWith('{') && !text.endsWith('}'))
      throw inputError(input.name, 'expected a JSON array, or NDJSON with one object a line');
    const place = placeOnLine(line, index);
    index += 1;
    const value = readLine(text, line, place, problems);
    if (value !== undefined) yield { value, place };
  }
}

function readLine(text: string, line: Line, place: ElementPlace, problems: Problems): JsonValue | undefined {
  try {
    return parseStrictJson(text).value;
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    // The parser counts lines within its own text.
    const reason = error.message.replace(/ \(line 1, column \d+\)/, '').replace(/\.$/, '');
    const column = (error.options.at?.column ?? 1) + indent(line.text);
    problems.add(`line ${line.number}`, `${reason} (column ${column})`, {
      ...{ index: place.index, line: line.number, column },
    });
    return undefined;
  }
}

const indent = (text: string): number => text.length - text.trimStart().length;

const placeOnLine = ({ text, number }: Line, index: number): ElementPlace => ({
  index,
  name: (path) => {
    const inside = pathText(path);
    return `line ${number}${inside === '' || inside.startsWith('[') ? '' : '.'}${inside}`;
  },
  label: (path) => pathText(path),
  locate: (path) => ({ line: number, column: (jsonOffsets(text, [path])[0] ?? 0) + 1 }),
});
