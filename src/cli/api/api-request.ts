/** From the words of `flywheel api` to a request: fields, body and headers; everything is checked before anything is opened. */
import type { RawRequest } from '../../contract/raw-api.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { CliContext } from '../context.js';
import { inInput, readInputText, readOptionText } from '../input/read-input.js';

/** The options as they were typed. */
export interface ApiOptions {
  readonly field?: readonly string[] | undefined;
  readonly typedField?: readonly string[] | undefined;
  readonly input?: string | undefined;
  readonly header?: readonly string[] | undefined;
}

/** One field; of JSON text, so that a number keeps its digits. */
interface Field {
  readonly name: string;
  readonly text: string;
  readonly json: string;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const WORDS: ReadonlySet<string> = new Set(['true', 'false', 'null']);

function split(flag: string, given: string, separator: string): readonly [string, string] {
  const at = given.indexOf(separator);
  if (at > 0) return [given.slice(0, at), given.slice(at + 1)];
  const shape = separator === '=' ? 'name=value' : "'Name: value'";
  throw new FlywheelError(
    'ERR_USAGE',
    `${flag}: expected ${shape}, got ${JSON.stringify(given.slice(0, 60))}.`,
  );
}

function textField(given: string): Field {
  const [name, text] = split('--field', given, '=');
  return { name, text, json: JSON.stringify(text) };
}

async function typedField(context: CliContext, given: string): Promise<Field> {
  const [name, value] = split('--typed-field', given, '=');
  if (NUMBER.test(value) || WORDS.has(value)) return { name, text: value, json: value };
  const { text } = value.startsWith('@')
    ? await readOptionText(context, '--typed-field', value)
    : { text: value };
  return { name, text, json: JSON.stringify(text) };
}

async function readFields(context: CliContext, { field = [], typedField: typed = [] }: ApiOptions) {
  const fields = field.map(textField);
  for (const given of typed) fields.push(await typedField(context, given));
  const names = new Set(fields.map(({ name }) => name));
  if (names.size < fields.length) throw new FlywheelError('ERR_USAGE', 'A field is given twice.');
  return fields;
}

function withQuery(path: string, fields: readonly Field[]): string {
  if (fields.length === 0) return path;
  const query = new URLSearchParams(Object.fromEntries(fields.map(({ name, text }) => [name, text])));
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

const objectOf = (fields: readonly Field[]): string =>
  `{${fields.map(({ name, json }) => `${JSON.stringify(name)}:${json}`).join(',')}}`;

/** @throws `ERR_INPUT_INVALID` for a body that is not JSON as the service reads it. */
async function readBody(context: CliContext, file: string): Promise<string> {
  const { name, text } = await readInputText(context, file);
  inInput(name, () => parseStrictJson(text));
  return text;
}

/**
 * The request that the words ask for. Fields are the query of a GET, and the body of a POST.
 * @throws `ERR_USAGE`, `ERR_INPUT_INVALID`
 */
export async function readRequest(
  context: CliContext,
  [method, path]: readonly ['GET' | 'POST', string],
  options: ApiOptions,
): Promise<RawRequest> {
  const { input, header = [] } = options;
  const fields = await readFields(context, options);
  if (input !== undefined && (method === 'GET' || fields.length > 0))
    throw new FlywheelError(
      'ERR_USAGE',
      '--input is the whole body of a POST: leave out fields, and use POST.',
    );
  const headers = Object.fromEntries(
    header.map((given) => {
      const [name, value] = split('--header', given, ':');
      return [name.trim().toLowerCase(), value.trim()];
    }),
  );
  const below = path.startsWith('/') || path.includes('://') ? path : `/${path}`;
  if (method === 'GET') return { method, path: withQuery(below, fields), headers };
  if (input !== undefined) return { method, path: below, headers, body: await readBody(context, input) };
  return { method, path: below, headers, ...(fields.length === 0 ? {} : { body: objectOf(fields) }) };
}
