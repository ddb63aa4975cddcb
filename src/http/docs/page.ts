/** The OpenAPI document as one page to read, with nothing in it from elsewhere. */
import type { OpenApiDocument } from '../../contract/openapi.js';
import type { Json } from '../../contract/openapi-schemas.js';
import { sha256 } from '../../values/digest.js';
import { shapeId } from './fields.js';
import { guides, type KeyWays } from './guides.js';
import { code, escapeHtml, link, prose } from './markup.js';
import type { Endpoint } from './samples.js';
import { SEARCH_SCRIPT } from './search-script.js';
import { errorsSection, operationSection, shapeSections } from './sections.js';
import { STYLE } from './style.js';

/** What a browser may do on the page: its own style and its own script, and nothing else. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  `script-src 'sha256-${Buffer.from(sha256(SEARCH_SCRIPT), 'hex').toString('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Group {
  readonly title: string;
  readonly entries: readonly (readonly [id: string, html: string])[];
}

const contents = (groups: readonly Group[]): string =>
  groups
    .map(({ title, entries }) => {
      const items = entries.map(([id, html]) => `<li>${link(id, html)}</li>`);
      return `<div class="group"><h2>${escapeHtml(title)}</h2><ul>${items.join('')}</ul></div>`;
    })
    .join('\n');

/** Operations in the order of the tags, those that are deprecated last of all. */
function endpointsOf(document: OpenApiDocument): readonly Endpoint[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const place = ({ operation }: Endpoint): number =>
    operation.deprecated
      ? document.tags.length
      : document.tags.findIndex(({ name }) => operation.tags.includes(name));
  return all.toSorted((one, other) => place(one) - place(other));
}

function operationGroups(document: OpenApiDocument, endpoints: readonly Endpoint[]): readonly Group[] {
  const group = (title: string, members: readonly Endpoint[]): Group => ({
    title,
    entries: members.map(({ method, path, operation }) => [
      operation.operationId,
      // A long path may be broken where it is divided.
      `${escapeHtml(method)} ${escapeHtml(path).replaceAll('/', '/<wbr>')}`,
    ]),
  });
  return [
    ...document.tags.map(({ name }) =>
      group(
        name,
        endpoints.filter(({ operation }) => !operation.deprecated && operation.tags.includes(name)),
      ),
    ),
    group(
      'Deprecated',
      endpoints.filter(({ operation }) => operation.deprecated),
    ),
  ].filter(({ entries }) => entries.length > 0);
}

function keyWaysOf(document: OpenApiDocument): KeyWays {
  const schemes = document.components['securitySchemes'] as Record<string, Json>;
  const isBearerTaken = endpointsOf(document).some(({ operation }) =>
    operation.security.some((ways) => 'bearer' in ways),
  );
  return { apiKeyHeader: String(schemes['apiKey']?.['name']), bearer: isBearerTaken };
}

/** The whole page. */
export function docsPage(document: OpenApiDocument): string {
  const ways = keyWaysOf(document);
  const endpoints = endpointsOf(document);
  const schemas = document.components['schemas'] as Record<string, Json>;
  const introduction = guides(ways);
  const nameOf = (id: string): string => {
    const endpoint = endpoints.find(({ operation }) => operation.operationId === id);
    return endpoint === undefined ? id : `${endpoint.method} ${endpoint.path}`;
  };
  const title = `${escapeHtml(document.info.title)} API`;
  const groups: readonly Group[] = [
    { title: 'First', entries: introduction.map((guide) => [guide.id, escapeHtml(guide.title)]) },
    ...operationGroups(document, endpoints),
    { title: 'Answers', entries: [['errors', 'Errors']] },
    { title: 'Shapes', entries: Object.keys(schemas).map((name) => [shapeId(name), escapeHtml(name)]) },
  ];
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${title}</title><style>${STYLE}</style></head><body>`,
    '<a class="skip" href="#content">To the content</a>',
    '<div class="page"><nav aria-label="Contents">',
    '<div id="find" hidden><label for="search">Search</label> <input id="search" type="search" autocomplete="off" spellcheck="false"> <span id="found" role="status"></span></div>',
    contents(groups),
    `</nav><main id="content"><h1>${title} ${escapeHtml(document.info.version)}</h1>`,
    `<p>${prose(document.info.description)} For programs there is the same as OpenAPI 3.1: <a href="openapi.json">openapi.json</a>, of which ${code('openapi-typescript')} and others make a client.</p>`,
    ...introduction.map(({ html }) => html),
    ...endpoints.map((endpoint) => operationSection(endpoint, ways.apiKeyHeader, nameOf)),
    errorsSection(endpoints),
    ...shapeSections(schemas),
    `</main></div><script>${SEARCH_SCRIPT}</script></body></html>`,
  ].join('\n');
}
