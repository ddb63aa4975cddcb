import { Validator } from '@seriousme/openapi-schema-validator';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/contract/examples.js';
import { openApiDocument } from '../../../src/contract/openapi.js';
import { COMMON_ERRORS, OPERATIONS, type Operation } from '../../../src/contract/operations.js';
import { parseInput } from '../../../src/contract/validate.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { exampleReply, type FakeService, fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { type RunningServer, startServer } from '../../support/http.js';
import { isLong } from '../../support/long.js';
import { answerJudge } from '../../support/openapi.js';

const OPTIONS = { apiKeyHeader: 'x-service-api-key', serverUrl: '/', version: '1.2.3' };
const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
const operations = Object.values<Operation>(OPERATIONS);

describe('openApiDocument', () => {
  it('is valid OpenAPI 3.1 in the eyes of another implementation', async () => {
    const validator = new Validator();
    const result = await validator.validate(JSON.parse(JSON.stringify(openApiDocument(OPTIONS))));
    expect(result.errors).toBeUndefined();
    expect([result.valid, validator.version]).toEqual([true, '3.1']);
  });

  it('names the header that says of a refusal that its key was not used, where one can say so', () => {
    const document = openApiDocument(OPTIONS);
    const named = operations.flatMap(({ id, path, method }) =>
      Object.entries(document.paths[path]?.[method.toLowerCase()]?.responses ?? {}).flatMap(
        ([status, { headers }]) =>
          'idempotency-key-unused' in (headers as object) ? [`${id} ${status}`] : [],
      ),
    );
    expect(named).toEqual(['burn 400', 'burnBatch 400', 'initBatch 400']);
  });

  it('shows examples that its own schemas accept', () => {
    const judge = answerJudge(openApiDocument(OPTIONS));
    for (const operation of operations) {
      const { request, response } = EXAMPLES[operation.id];
      const method = operation.method.toLowerCase();
      const headers = { get: () => 'x' };
      expect(judge.judge(operation.path, method, { status: 200, headers, body: response })).toEqual([]);
      expect(() => parseInput(operation.response, response)).not.toThrow();
      if (request !== undefined) {
        expect(judge.acceptsRequest(operation.path, method, request)).toBe(true);
        const inPath = operation.path.includes('{') ? { batchId: BATCH_ID } : {};
        const input = Array.isArray(request) ? request : { ...request, ...inPath };
        expect(() => parseInput(operation.request ?? operation.response, input)).not.toThrow();
      }
    }
  });
});

describe('what openApiDocument says of limits and keys', () => {
  const document = openApiDocument({
    ...OPTIONS,
    rateLimits: { burn: { points: 100, windowSeconds: 1 } },
    maxBodyBytes: 2_048,
  });
  const schemas = document.components['schemas'] as Record<string, Record<string, unknown>>;
  const propertiesOf = (name: string) =>
    schemas[name]?.['properties'] as Record<string, Record<string, unknown>>;
  const describedAs = (id: string) =>
    Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .find(({ operationId }) => operationId === id);

  it('a proof may have any properties', () => {
    expect(propertiesOf('BurnRequest')['proof']).toMatchObject({
      type: 'object',
      additionalProperties: true,
    });
  });

  it('lists and texts have their greatest lengths', () => {
    expect(schemas['BurnBatchRequest']).toMatchObject({ type: 'array', maxItems: 1_000 });
    expect(propertiesOf('InitBatchRequest')['pipelines']).toMatchObject({ maxItems: 1_000 });
    expect(propertiesOf('BurnRequest')['type']).toMatchObject({ maxLength: 64 });
    expect(propertiesOf('ExecuteBatchRequest')).toMatchObject({
      batchId: { maxLength: 36 },
      signedTx: { maxLength: 1_644 },
    });
    expect(JSON.stringify(describedAs('getBatch')?.parameters)).toContain('beyond 200 characters');
    expect(JSON.stringify(describedAs('burn')?.requestBody)).toContain('at most 2048 bytes, 80000 values');
  });

  it('only a POST whose path says what it is about may come without a body', () => {
    const bodies = operations.map(({ id }) => [id, describedAs(id)?.requestBody?.['required']] as const);
    expect(Object.fromEntries(bodies.filter(([, required]) => required !== undefined))).toEqual({
      burn: true,
      burnBatch: true,
      initBatch: true,
      executeBatch: true,
      issueApproval: false,
      cancelBatch: false,
    });
  });

  it('a proof that failed is given back whatever it is', () => {
    expect(propertiesOf('BurnError')['proof']).not.toHaveProperty('type');
  });

  it('the limits are those that hold, and of repeats it is said where there are any', () => {
    expect(describedAs('burn')?.description).toContain('At most 100 in 1 s per key');
    expect(describedAs('burnBatch')?.description).toContain('At most 1 in 10 s per key');
    expect(describedAs('burnBatch')?.description).toContain('Repeats of a successful request');
    expect(describedAs('getBatch')?.description).not.toContain('repeat');
  });
});

describe('the server, judged by its own document', () => {
  let fake: FakeService;
  let server: RunningServer;
  const judge = answerJudge(openApiDocument(OPTIONS));

  beforeAll(async () => {
    fake = fakeService();
    for (const { id, request } of operations) {
      fake.answer(id, ({ input }) => {
        if (request !== null) parseInput(request, input);
        return exampleReply(id);
      });
    }
    server = await startServer({ service: fake.service }, { limits: { maxBodyBytes: 2_000 } });
  });
  afterAll(async () => {
    await server.closeGracefully(1_000);
  });

  const ask = async (operation: Operation, init: RequestInit): Promise<readonly string[]> => {
    const path = operation.path.replace('{batchId}', BATCH_ID);
    const response = await fetch(server.url + path, { method: operation.method, ...init });
    const body: unknown = await response.json();
    return judge.judge(operation.path, operation.method.toLowerCase(), {
      status: response.status,
      headers: response.headers,
      body,
    });
  };

  it('gives no undocumented answer to whatever is sent', async () => {
    const anyKey = fc.constantFrom(GOOD_KEY, GOOD_KEY, GOOD_KEY, 'unknown', undefined);
    const anyType = fc.constantFrom(
      'application/json',
      'application/json',
      'application/json',
      'text/plain',
      undefined,
    );
    const idempotency = fc.constantFrom(undefined, BATCH_ID, 'abc', 'a b');
    const mutated = (operation: Operation) =>
      fc
        .tuple(
          fc.constantFrom(
            'type',
            'proof',
            'burnAmount',
            'persistOnchain',
            'pipelines',
            'batchId',
            'signedTx',
          ),
          fc.jsonValue(),
        )
        .map(([key, value]) => {
          const example = EXAMPLES[operation.id].request;
          return JSON.stringify(
            Array.isArray(example)
              ? [{ ...example[0], [key]: value }]
              : { ...(example as object), [key]: value },
          );
        });
    const bodies = (operation: Operation) =>
      fc.oneof(
        fc.constant(JSON.stringify(EXAMPLES[operation.id].request)),
        mutated(operation),
        fc.json(),
        fc.string(),
        fc.constant('x'.repeat(3_000)),
      );
    const request = fc.constantFrom(...operations).chain((operation) =>
      fc.record({
        operation: fc.constant(operation),
        key: anyKey,
        type: anyType,
        idempotencyKey: idempotency,
        body: operation.method === 'POST' ? bodies(operation) : fc.constant(undefined),
      }),
    );
    await fc.assert(
      fc.asyncProperty(request, async ({ operation, key, type, idempotencyKey, body }) => {
        const headers = new Headers();
        if (key !== undefined) headers.set('x-service-api-key', key);
        if (type !== undefined) headers.set('content-type', type);
        if (idempotencyKey !== undefined) headers.set('x-idempotency-key', idempotencyKey);
        // Bytes rather than text, so that fetch adds no content type of its own.
        const bytes = body === undefined ? {} : { body: new TextEncoder().encode(body) };
        expect(await ask(operation, { headers, ...bytes })).toEqual([]);
      }),
      { numRuns: isLong ? 1_000 : 150 },
    );
  });

  it('documents each error that the service may throw', async () => {
    for (const operation of operations) {
      for (const code of new Set([...COMMON_ERRORS, ...operation.errors])) {
        fake.answer(operation.id, () => Promise.reject(new FlywheelError(code, 'Because.')));
        const headers = {
          'x-service-api-key': GOOD_KEY,
          'content-type': 'application/json',
          'x-idempotency-key': BATCH_ID,
        };
        const init = operation.method === 'POST' ? { headers, body: '{}' } : { headers };
        expect([operation.id, code, ...(await ask(operation, init))]).toEqual([operation.id, code]);
      }
    }
  });
});
