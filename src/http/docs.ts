/** The OpenAPI document as one HTML page without scripts or external resources. */
import type { Json, OpenApiDocument } from '../contract/openapi.js';

export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE =
  ':root{color-scheme:light dark;background:Canvas;color:CanvasText}body{background:Canvas;font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem}pre{overflow:auto;padding:.5rem;border:1px solid}code{overflow-wrap:anywhere}';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = (text: unknown): string =>
  String(text).replaceAll(/[&<>"]/g, (one) => ENTITIES[one] ?? one);
const prose = (text: unknown): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
const json = (title: string, value: unknown): string =>
  `<details><summary>${title}</summary><pre><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre></details>`;
const contentOf = (part: Json | undefined): Json | undefined =>
  (part?.['content'] as Record<string, Json> | undefined)?.['application/json'];

function operationSection(name: string, operation: OpenApiDocument['paths'][string][string]): string {
  const { operationId, parameters, requestBody, responses, summary, description } = operation;
  const successor = operation['x-successor'];
  const fields = parameters.map((one) => {
    const where = `${one['in']}${one['required'] === true ? ', required' : ''}`;
    return `<li><code>${escapeHtml(one['name'])}</code> (${where}): ${prose(one['description'])}</li>`;
  });
  const answers = Object.entries(responses).map(([status, response]) => {
    const codes = Object.keys((contentOf(response)?.['examples'] ?? {}) as object);
    return `<li>${status}: ${prose(codes.length === 0 ? response['description'] : codes.join(', '))}</li>`;
  });
  const body = contentOf(requestBody);
  return [
    `<section id="${operationId}"><h2><code>${name}</code></h2><p>${prose(summary)} ${prose(description)}</p>`,
    successor === undefined ? '' : `<p>Deprecated: use <a href="#${successor}">${successor}</a>.</p>`,
    `<h3>Parameters</h3><ul>${fields.join('')}</ul>`,
    body === undefined ? '' : `<p>${prose(requestBody?.['description'])}</p>`,
    body === undefined ? '' : json('Body', body['schema']) + json('Example', body['example']),
    `<h3>Responses</h3><ul>${answers.join('')}</ul>${json('Example', contentOf(responses['200'])?.['example'])}</section>`,
  ].join('\n');
}

function docsPage({ info, paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [`${method.toUpperCase()} ${escapeHtml(path)}`, operation] as const,
    ),
  );
  const links = operations.map(
    ([name, { operationId, summary }]) =>
      `<li><a href="#${operationId}"><code>${name}</code></a> ${prose(summary)}</li>`,
  );
  const schemas = Object.entries(components['schemas'] as object).map(([name, schema]) => json(name, schema));
  const title = `${escapeHtml(info.title)} API ${escapeHtml(info.version)}`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${title}</title><style>${STYLE}</style></head><body><h1>${title}</h1>`,
    `<p>${prose(info.description)} For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>`,
    `<ul>${links.join('')}</ul>`,
    ...operations.map(([name, operation]) => operationSection(name, operation)),
    `<section id="schemas"><h2>Schemas</h2>${schemas.join('')}</section></body></html>`,
  ].join('\n');
}

/** Some 400 KB of text, which take 20 ms to make. */
export const docsOf = (document: OpenApiDocument) => ({
  json: JSON.stringify(document, null, 2),
  page: docsPage(document),
});
