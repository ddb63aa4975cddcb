/** What a JSON Schema says of a value, in words: its type, its limits, and the fields of an object as a table. */
import type { Json } from '../../contract/openapi-schemas.js';
import { code, link, prose, table } from './markup.js';

const COMPONENT = '#/components/schemas/';

/** Where a named shape is described. */
export const shapeId = (name: string): string => `shape-${name}`;

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJson) : []);

function referenceOf(schema: Json): string | undefined {
  const target = schema['$ref'];
  return typeof target === 'string' ? target.slice(COMPONENT.length) : undefined;
}

const alternativesOf = (schema: Json): readonly Json[] => list(schema['anyOf'] ?? schema['oneOf']);

/** The type of a value. @returns HTML */
export function typeText(schema: Json): string {
  const reference = referenceOf(schema);
  if (reference !== undefined) return link(shapeId(reference), code(reference));
  const alternatives = [...alternativesOf(schema), ...list(schema['allOf'])];
  if (alternatives.length > 0) return [...new Set(alternatives.map(typeText))].join(' or ');
  if (schema['const'] !== undefined) return code(String(schema['const']));
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => code(String(value))).join(' or ');
  if (schema['type'] === 'array')
    return `list of ${isJson(schema['items']) ? typeText(schema['items']) : 'any values'}`;
  return schema['type'] === undefined ? 'any JSON' : prose(String(schema['type']));
}

/** Words for each limit that a schema may have. */
const LIMITS: readonly (readonly [string, (value: unknown) => string])[] = [
  ['format', (value) => `format ${value}`],
  ['minLength', (value) => `at least ${value} ${value === 1 ? 'character' : 'characters'}`],
  ['maxLength', (value) => `at most ${value} characters`],
  ['minItems', (value) => `at least ${value}`],
  ['maxItems', (value) => `at most ${value}`],
  ['exclusiveMinimum', (value) => `greater than ${value}`],
  ['minimum', (value) => `at least ${value}`],
  ['maximum', (value) => `at most ${value}`],
];

/** A bound that says no more than that a JSON number keeps the value. */
const saysNothing = (name: string, value: unknown): boolean =>
  (name === 'minimum' || name === 'maximum') && Math.abs(Number(value)) >= Number.MAX_SAFE_INTEGER;

/** The limits of a value. @returns HTML */
export function limitsText(schema: Json): string {
  return LIMITS.filter(([name]) => schema[name] !== undefined && !saysNothing(name, schema[name]))
    .map(([name, words]) => prose(words(schema[name])))
    .join(', ');
}

/** One row about a value. @param name - HTML */
export const fieldRow = (
  name: string,
  required: boolean,
  schema: Json,
  description?: string,
): readonly string[] => [
  name,
  typeText(schema),
  required ? 'required' : 'optional',
  limitsText(schema),
  prose(description ?? String(schema['description'] ?? '')),
];

export const FIELD_HEADING = ['field', 'type', 'needed', 'limits', 'what'] as const;

/** The fields of an object. @returns HTML, empty where it has none */
export function fieldTable(label: string, schema: Json): string {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  if (properties.length === 0) return '';
  const required = new Set((schema['required'] ?? []) as readonly string[]);
  return table(
    label,
    FIELD_HEADING,
    properties.map(([name, value]) => fieldRow(code(name), required.has(name), value)),
  );
}

/** What one of several forms of a value is called: the value that tells it from the others. */
function formName(form: Json): string {
  const values = Object.values((form['properties'] ?? {}) as Record<string, Json>);
  const telling = values.find((value) => value['const'] !== undefined || value['enum'] !== undefined);
  return telling === undefined ? typeText(form) : typeText(telling);
}

/** Everything that is to be said of a value. @returns HTML */
export function shapeText(label: string, schema: Json): string {
  const forms = alternativesOf(schema).filter(
    (form) => referenceOf(form) === undefined && 'properties' in form,
  );
  const what = schema['description'] === undefined ? '' : `<p>${prose(String(schema['description']))}</p>`;
  const fields = fieldTable(label, schema);
  const limits = limitsText(schema);
  const line =
    fields === '' && forms.length === 0 ? `<p>${typeText(schema)}${limits && `, ${limits}`}</p>` : '';
  return [
    what,
    line,
    fields,
    ...forms.map((form) => `<h4>${formName(form)}</h4>${fieldTable(label, form)}`),
  ].join('\n');
}
