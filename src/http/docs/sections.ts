/** One section of the page for each operation, one for all errors, and one for each named shape. */
import type { Json } from '../../contract/openapi-schemas.js';
import { ERRORS, type ErrorCode } from '../../errors/codes.js';
import { FIELD_HEADING, fieldRow, fieldTable, shapeId, shapeText, typeText } from './fields.js';
import { code, codeBlock, escapeHtml, link, prose, section, table } from './markup.js';
import { curlSample, type Endpoint, typescriptSample } from './samples.js';

const errorId = (errorCode: string): string => `error-${errorCode}`;

const contentOf = (part: Json | undefined): Json | undefined =>
  (part?.['content'] as Record<string, Json> | undefined)?.['application/json'];

const endpointName = ({ method, path }: Endpoint): string => `${method} ${path}`;

function parameterTable(endpoint: Endpoint): string {
  const rows = endpoint.operation.parameters.map((parameter) =>
    fieldRow(
      `${code(String(parameter['name']))} <small>${escapeHtml(String(parameter['in']))}</small>`,
      parameter['required'] === true,
      parameter['schema'] as Json,
      String(parameter['description'] ?? ''),
    ),
  );
  return `<h3>Parameters</h3>${table(`Parameters of ${endpointName(endpoint)}`, FIELD_HEADING, rows)}`;
}

function bodyText(endpoint: Endpoint): string {
  const { requestBody } = endpoint.operation;
  const schema = contentOf(requestBody)?.['schema'] as Json | undefined;
  if (requestBody === undefined || schema === undefined) return '';
  const needed = requestBody['required'] === true ? '' : ' It may be left out.';
  const own = fieldTable(`Body of ${endpointName(endpoint)}`, schema);
  return [
    '<h3>Body</h3>',
    `<p>${typeText(schema)}. ${prose(String(requestBody['description']))}${needed}</p>`,
    own,
  ].join('\n');
}

/** What it answers when it is done. */
function answerText({ operation }: Endpoint): string {
  const answer = operation.responses['200'];
  const content = contentOf(answer);
  const headers = Object.entries((answer?.['headers'] ?? {}) as Record<string, Json>).map(
    ([name, header]) => `<dt>${code(name)}</dt><dd>${prose(String(header['description']))}</dd>`,
  );
  return [
    '<h3>Answer</h3>',
    `<p>200: ${content === undefined ? '' : typeText(content['schema'] as Json)}. ${prose(String(answer?.['description']))}</p>`,
    codeBlock('Answer', 'json', JSON.stringify(content?.['example'], null, 2)),
    `<details><summary>Headers</summary><dl>${headers.join('')}</dl></details>`,
  ].join('\n');
}

/** The codes it may be refused with; what each means is said once for all. */
function refusals({ operation }: Endpoint): string {
  const rows = Object.entries(operation.responses)
    .filter(([status]) => status !== '200')
    .map(([status, response]) => {
      const codes = Object.keys((contentOf(response)?.['examples'] ?? {}) as object);
      const text = codes.map((name) => link(errorId(name), code(name))).join(', ');
      return `<dt>${status}</dt><dd>${text || prose(String(response['description']))}</dd>`;
    });
  return `<h3>Refusals</h3><dl>${rows.join('')}</dl>`;
}

/** @param nameOf - how the operation of an id is called */
export function operationSection(
  endpoint: Endpoint,
  apiKeyHeader: string,
  nameOf: (operationId: string) => string,
): string {
  const { operation } = endpoint;
  const name = endpointName(endpoint);
  const successor = operation['x-successor'];
  return section(
    operation.operationId,
    code(name),
    successor === undefined
      ? ''
      : `<p class="deprecated">Deprecated: use ${link(successor, code(nameOf(successor)))}.</p>`,
    `<p>${prose(operation.summary)}</p>`,
    `<p>${prose(operation.description)}</p>`,
    parameterTable(endpoint),
    bodyText(endpoint),
    `<h3>curl</h3>${codeBlock(`${name} with curl`, 'shell', curlSample(endpoint, apiKeyHeader))}`,
    `<h3>TypeScript</h3>${codeBlock(`${name} in TypeScript`, 'typescript', typescriptSample(endpoint, apiKeyHeader))}`,
    answerText(endpoint),
    refusals(endpoint),
  );
}

const SEND_AGAIN = {
  always: 'yes, after `retry-after`',
  'with-key': 'yes, under the same idempotency key',
  never: 'no',
} as const;

/** Every error that some operation answers with. */
export function errorsSection(endpoints: readonly Endpoint[]): string {
  const used = new Set(
    endpoints.flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap((response) =>
        Object.keys((contentOf(response)?.['examples'] ?? {}) as object),
      ),
    ),
  );
  const rows = Object.entries(ERRORS)
    .filter(([name]) => used.has(name))
    .map(([name, { status, when, retry }]) => [
      `<span id="${errorId(name as ErrorCode)}">${code(name)}</span>`,
      String(status),
      prose(when),
      prose(SEND_AGAIN[retry]),
    ]);
  return section(
    'errors',
    'Errors',
    `<p>Every failure is ${code('{"error": code, "message": text}')}. A code never changes its meaning.</p>`,
    table('Errors', ['code', 'status', 'when', 'send it again?'], rows),
  );
}

/** What each named shape is made of. */
export const shapeSections = (schemas: Readonly<Record<string, Json>>): readonly string[] =>
  Object.entries(schemas).map(([name, schema]) =>
    section(shapeId(name), code(name), shapeText(`Fields of ${name}`, schema)),
  );
