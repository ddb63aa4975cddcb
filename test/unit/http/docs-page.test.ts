/** The page of the service, as its reader sees it without a browser; how it looks is held by the desktop tests. */
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/contract/openapi.js';
import type { Json } from '../../../src/contract/openapi-schemas.js';
import { ERRORS } from '../../../src/errors/codes.js';
import { CONTENT_SECURITY_POLICY, docsPage } from '../../../src/http/docs/page.js';

const document = openApiDocument({ apiKeyHeader: 'x-service-api-key', serverUrl: '/', version: '1.2.3' });
const page = docsPage(document);
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const sectionOf = (id: string): string =>
  new RegExp(`<section id="${id}">.*?</section>`, 's').exec(page)?.[0] ?? '';

describe('the page', () => {
  it('has a section for each operation, with its scopes, both samples and its refusals', () => {
    for (const operation of operations) {
      const section = sectionOf(operation.operationId);
      for (const scope of operation['x-required-scopes']) expect(section).toContain(`<code>${scope}</code>`);
      expect(section).toContain('language-shell');
      expect(section).toContain('language-typescript');
      expect(section).toContain('href="#error-ERR_UNAUTHORIZED"');
    }
  });

  it('leads nowhere but to places that are there, each of them once', () => {
    const targets = [...page.matchAll(/href="#([\w-]+)"/g)].map(([, id]) => id);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(targets.length).toBeGreaterThan(100);
    expect([...new Set(targets)].filter((id) => !ids.includes(id))).toEqual([]);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('says of every field what it is', () => {
    const schemas = document.components['schemas'] as Record<string, { properties?: Record<string, Json> }>;
    const silent = Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, field]) => field['description'] === undefined && field['$ref'] === undefined)
        .map(([field]) => `${name}.${field}`),
    );
    expect(silent).toEqual([]);
    const parameters = operations.flatMap((operation) => operation.parameters);
    expect(parameters.filter((parameter) => parameter['description'] === undefined)).toEqual([]);
  });

  it('shows limits of fields, and the forms of an action each on its own', () => {
    expect(sectionOf('shape-BurnRequest')).toMatch(/<code>type<\/code>.*at most 64 characters/);
    expect(sectionOf('shape-BurnRequest')).toMatch(/<code>burnAmount<\/code>.*greater than 0/);
    expect(sectionOf('shape-InitBatchRequest')).toMatch(/<code>pipelines<\/code>.*at most 1000/);
    for (const action of ['BURN', 'AIRDROP', 'MEMO'])
      expect(sectionOf('shape-Action')).toContain(`<h4><code>${action}</code></h4>`);
  });

  it('has what is deprecated last, with what replaces it', () => {
    const order = [...page.matchAll(/<section id="(\w+)">/g)].map(([, id]) => id);
    const ids = operations.map(({ operationId }) => operationId);
    expect(order.filter((id) => ids.includes(id ?? '')).slice(-2)).toEqual(['burn', 'burnBatch']);
    for (const id of ['burn', 'burnBatch'])
      expect(sectionOf(id)).toContain(
        'Deprecated: use <a href="#initBatch"><code>POST /v1/flywheel/batch/init</code>',
      );
  });

  it('explains each error once', () => {
    const crossing = Object.entries(ERRORS).filter(([, { status }]) => status !== null);
    for (const [name, { when }] of crossing.filter(([code]) => page.includes(`#error-${code}"`))) {
      expect(page.split(`id="error-${name}"`)).toHaveLength(2);
      expect(sectionOf('errors')).toContain(when.replaceAll("'", '&#39;').replaceAll('"', '&quot;'));
    }
  });

  it('allows its own script only', async () => {
    const script = /<script>(.*)<\/script>/s.exec(page)?.[1] ?? '';
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(script));
    expect(CONTENT_SECURITY_POLICY).toContain(`'sha256-${Buffer.from(digest).toString('base64')}'`);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/ src=|url\(|@import|javascript:/);
  });

  it('has no way to let text of the document out of its place', () => {
    const hostile = openApiDocument({
      apiKeyHeader: 'x-"><script>alert(1)</script>',
      serverUrl: '/',
      version: '</title><script>alert(2)</script>',
    });
    expect(docsPage(hostile).match(/<script/g)).toHaveLength(1);
  });
});
