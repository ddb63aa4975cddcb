/** NDJSON: one JSON value a line. */

import { pathText } from '../../contract/validate.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Element } from './element.js';
import type { Input } from './open-input.js';
import type { ElementPlace, Problems } from './problems.js';
import { inputError } from './read-input.js';

/** Every value of a file; a line that holds none is noted as a problem. */
export function* jsonLines(input: Input, problems: Problems): Generator<Element> {
  let index = 0;
  for (const [at, line] of input.text.split('\n').entries()) {
    const text = line.trim();
    if (text === '') continue;
    if (index === 0 && text.startsWith('{') && !text.endsWith('}'))
      throw inputError(input.name, 'expected a JSON array, or NDJSON with one object per line');
    const place = placeOnLine(at + 1, index);
    index += 1;
    const value = readLine(line, place, at + 1, problems);
    if (value !== undefined) yield { value, place };
  }
}

function readLine(
  text: string,
  { index }: ElementPlace,
  line: number,
  problems: Problems,
): JsonValue | undefined {
  try {
    return parseStrictJson(text).value;
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    // The parser counts lines within its own text.
    const reason = error.message.replace('(line 1, ', '(').replace(/\.$/, '');
    problems.add(`line ${line}`, reason, { index, line });
    return undefined;
  }
}

const placeOnLine = (line: number, index: number): ElementPlace => ({
  index,
  name: (path) => {
    const inside = pathText(path);
    return `line ${line}${inside === '' || inside.startsWith('[') ? '' : '.'}${inside}`;
  },
  label: pathText,
  line: () => line,
});
