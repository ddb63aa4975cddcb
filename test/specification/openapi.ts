/** Compares the server's OpenAPI document with the specification, and with every answer of this suite. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, expect } from 'vitest';
import { answerJudge, type OpenApiDocument, type OpenApiOperation } from './answer-judge.js';
import { type Api, type OperationName, ROUTES } from './api.js';
import { it, running } from './cases.js';

const OPERATIONS = Object.keys(ROUTES) as OperationName[];

/** Words that name the limit of each operation (section 8; contract, section 1.5). */
const LIMITS: Readonly<Record<OperationName, RegExp>> = {
  burn: /\b10\b[^.]*\b(1 s|second)/,
  burnBatch: /\b1\b[^.]*\b10 s/,
  getBatch: /\b10\b[^.]*\b(1 s|second)/,
  currentBatch: /\b10\b[^.]*\b(1 s|second)/,
  initBatch: /\b10\b[^.]*\b(60 s|minute|min)/,
  executeBatch: /\b10\b[^.]*\b(60 s|minute|min)/,
};

type Json = Readonly<Record<string, unknown>>;

function resolve(document: OpenApiDocument, schema: unknown): Json {
  const reference = (schema as Json)['$ref'];
  if (typeof reference !== 'string') return schema as Json;
  const steps = reference.replace('#/', '').split('/');
  return resolve(
    document,
    steps.reduce<unknown>((inner, step) => (inner as Json)[step], document),
  );
}

export function openApi(): void {
  let document: OpenApiDocument;
  const described = (operation: OperationName): OpenApiOperation => {
    const [method, path] = ROUTES[operation];
    return document.paths[path]?.[method.toLowerCase()] ?? expect.fail(`${operation} is not described.`);
  };
  const requestOf = (operation: OperationName): Json => {
    const { content } = (described(operation).requestBody ?? {}) as {
      content: Record<string, { schema: unknown }>;
    };
    return resolve(document, content['application/json']?.schema);
  };

  // A server describes its own limits, so this one has the limits of the contract.
  beforeAll(() =>
    running().beside({ rateLimits: {} }, async ({ http }) => {
      const answer = await http.send('GET', '/openapi.json');
      document = JSON.parse(answer.bytes.toString()) as OpenApiDocument;
    }),
  );

  it('4: every operation is described, by its method and path', async () => {
    for (const operation of OPERATIONS) expect(described(operation).responses).toHaveProperty('200');
    const { valid, errors } = await new Validator().validate(
      JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
    );
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('4.1, 4.2, 9: the two burn operations are deprecated, the others are not', () => {
    const deprecated = OPERATIONS.filter((operation) => described(operation).deprecated === true);
    expect(deprecated.sort()).toEqual(['burn', 'burnBatch']);
  });

  it('5: "each operation named above uses the API key header scheme" — and none asks for anything that the server refuses', () => {
    const { securitySchemes } = document.components as { securitySchemes: Record<string, Json> };
    for (const operation of OPERATIONS) {
      const { security } = described(operation) as { security?: readonly Json[] };
      const schemes = (security ?? []).map((names) =>
        Object.keys(names).map((name) => securitySchemes[name]),
      );
      expect(schemes).toEqual([
        [expect.objectContaining({ type: 'apiKey', in: 'header', name: 'x-service-api-key' })],
      ]);
    }
  });

  it('5: "The formal schema also declares an HTTP bearer scheme at its top level"', () => {
    const { securitySchemes } = document.components as { securitySchemes: Record<string, Json> };
    const schemes = document.security.map((names) => Object.keys(names).map((name) => securitySchemes[name]));
    expect(schemes).toEqual([[expect.objectContaining({ type: 'http', scheme: 'bearer' })]]);
  });

  it('8: each operation states its rate limit', () => {
    for (const operation of OPERATIONS) {
      const { summary, description } = described(operation);
      expect([operation, `${summary} ${description}`]).toEqual([
        operation,
        expect.stringMatching(LIMITS[operation]),
      ]);
      expect(described(operation).responses).toHaveProperty('429');
    }
  });

  it('8, contract 1.6: 1,000 elements a burn-batch and 1,000 pipelines a batch are stated', () => {
    expect(requestOf('burnBatch')).toMatchObject({ type: 'array', maxItems: 1_000 });
    const { properties } = requestOf('initBatch') as { properties: Record<string, unknown> };
    expect(resolve(document, properties['pipelines'])).toMatchObject({ type: 'array', maxItems: 1_000 });
  });

  it('2.1: the burn request as described has the four fields, all of them required', () => {
    const { properties, required } = requestOf('burn') as {
      properties: Record<string, Json>;
      required: string[];
    };
    expect([...required].sort()).toEqual(['burnAmount', 'persistOnchain', 'proof', 'type']);
    expect(Object.fromEntries(required.map((name) => [name, properties[name]?.['type']]))).toEqual({
      type: 'string',
      proof: 'object',
      burnAmount: 'number',
      persistOnchain: 'boolean',
    });
  });

  it('4.1, 4.2: `x-idempotency-key` — required and a UUID for burn-batch, not required for burn', () => {
    const header = (operation: OperationName) =>
      described(operation).parameters.find(({ name }) => name === 'x-idempotency-key');
    expect(header('burnBatch')).toMatchObject({ in: 'header', required: true, schema: { format: 'uuid' } });
    expect(header('burn')).toMatchObject({ in: 'header', required: false });
    for (const operation of ['getBatch', 'currentBatch'] as const) expect(header(operation)).toBeUndefined();
  });

  it('4.3: `batchId` — path, required; 404 and, for ids of over 200 characters, 400 are described', () => {
    const { parameters, responses } = described('getBatch');
    expect(parameters.find(({ name }) => name === 'batchId')).toMatchObject({ in: 'path', required: true });
    expect(JSON.stringify(responses['404'])).toContain('ERR_BATCH_NOT_FOUND');
    expect(JSON.stringify(responses['400'])).toContain('ERR_INVALID_REQUEST');
    expect(JSON.stringify(described('getBatch'))).toContain('200');
  });

  it('7: the codes of the specification are described where they occur, with their status', () => {
    for (const code of [
      'ERR_TOKEN_NOT_FOUND',
      'ERR_CREATE_API_EVENT_FAILED',
      'ERR_INVALID_PROOF',
      'ERR_BURN_TOKENOMICS_FAILED',
    ]) {
      expect(JSON.stringify(described('burn').responses['400'])).toContain(code);
    }
    expect(JSON.stringify(described('currentBatch').responses['500'])).toContain('ERR_BATCH_CURRENT_FAILED');
    for (const operation of OPERATIONS) {
      expect(JSON.stringify(described(operation).responses['401'])).toContain('ERR_UNAUTHORIZED');
    }
  });
}

export async function expectDescribed({ http }: Api): Promise<void> {
  const description = await http.send('GET', '/openapi.json');
  const judge = answerJudge(JSON.parse(description.bytes.toString()) as OpenApiDocument);
  const routes = OPERATIONS.map((operation) => {
    const [method, path] = ROUTES[operation];
    // Fixed paths are no ids; overlong ids have their own case.
    const id = '(?!(?:init|execute)$)[^/]{1,200}';
    return { method, path, pattern: new RegExp(`^${path.replace('{batchId}', id)}$`) };
  });
  // `/current` before `/{batchId}`.
  routes.sort((left, right) => Number(left.path.includes('{')) - Number(right.path.includes('{')));
  const undocumented = new Set<string>();
  let judged = 0;
  for (const { method, path, status, headers, bytes } of http.seen) {
    const route = routes.find((one) => one.method === method && one.pattern.test(path.replace(/\?.*/, '')));
    if (route === undefined) continue;
    judged += 1;
    const body: unknown = JSON.parse(bytes.toString());
    const seen = { status, headers: { get: (name: string) => headers[name] ?? null }, body };
    for (const problem of judge.judge(route.path, method.toLowerCase(), seen)) {
      undocumented.add(`${method} ${route.path} ${status} ${bytes.toString().slice(0, 120)}: ${problem}`);
    }
  }
  expect([...undocumented].slice(0, 10)).toEqual([]);
  expect(judged).toBeGreaterThan(50);
}
