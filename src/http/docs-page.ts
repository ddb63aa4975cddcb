/** The OpenAPI document as one readable page, without scripts and without anything from elsewhere. */
import type { OpenApiDocument, OpenApiOperation } from '../contract/openapi.js';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}' +
  'h2{margin-top:3rem;border-top:1px solid #ccc;padding-top:1rem}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f4f4f4}' +
  'code{padding:.1em .3em}pre{padding:1rem;overflow:auto}table{border-collapse:collapse;width:100%}' +
  'td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #ddd}' +
  '.deprecated{color:#9a3412}@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}code,pre{background:#262626}}';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => ESCAPES[char] ?? char);

/** Text with `code` marks. */
const prose = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

const field = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  );

const exampleBlock = (title: string, example: unknown): string =>
  example === undefined ? '' : `<h3>${title}</h3><pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre>`;

const row = (cells: readonly string[]): string =>
  `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

function parameterTable(operation: OpenApiOperation): string {
  const rows = operation.parameters.map((parameter) =>
    row([
      `<code>${escapeHtml(String(parameter['name']))}</code>`,
      escapeHtml(String(parameter['in'])),
      parameter['required'] === true ? 'required' : 'optional',
      prose(String(parameter['description'])),
    ]),
  );
  return `<h3>Parameters</h3><table>${rows.join('')}</table>`;
}

function responseTable(operation: OpenApiOperation): string {
  const rows = Object.entries(operation.responses).map(([status, response]) => {
    const headers = Object.keys((response['headers'] ?? {}) as object).map(
      (name) => `<code>${escapeHtml(name)}</code>`,
    );
    return row([escapeHtml(status), prose(String(response['description'])), headers.join(' ')]);
  });
  return `<h3>Answers</h3><table><tr><th>status</th><th>when</th><th>headers</th></tr>${rows.join('')}</table>`;
}

function operationSection(method: string, path: string, operation: OpenApiOperation): string {
  const json = ['content', 'application/json'];
  return [
    `<h2 id="${escapeHtml(operation.operationId)}"><code>${escapeHtml(method.toUpperCase())} ${escapeHtml(path)}</code></h2>`,
    operation.deprecated ? '<p class="deprecated">Deprecated.</p>' : '',
    `<p>${prose(operation.summary)} ${prose(operation.description)}</p>`,
    parameterTable(operation),
    exampleBlock('Request', field(operation.requestBody, ...json, 'example')),
    exampleBlock('Answer', field(operation.responses['200'], ...json, 'example')),
    responseTable(operation),
  ].join('\n');
}

/** The whole page. */
export function docsPage(document: OpenApiDocument): string {
  const sections = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationSection(method, path, operation)),
  );
  const schemes = ['securitySchemes'];
  const keyHeader = String(field(document.components, ...schemes, 'apiKey', 'name'));
  const bearer =
    field(document.components, ...schemes, 'bearer') === undefined ? '' : ' or as a bearer token';
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${escapeHtml(document.info.title)} API</title><style>${STYLE}</style></head><body>`,
    `<h1>${escapeHtml(document.info.title)} API ${escapeHtml(document.info.version)}</h1>`,
    `<p>${prose(document.info.description)} Every request carries the API key in <code>${escapeHtml(keyHeader)}</code>${bearer}.`,
    'Every failure is <code>{"error": code, "message": text}</code>. The same as OpenAPI: <a href="openapi.json">openapi.json</a>.</p>',
    ...sections,
    '</body></html>',
  ].join('\n');
}
