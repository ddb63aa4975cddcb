import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/contract/openapi.js';
import { OPERATIONS, type Operation } from '../../../src/contract/operations.js';
import { parseInput } from '../../../src/contract/validate.js';
import { answerJudge } from '../../specification/answer-judge.js';
import { EXAMPLES } from '../../support/wire-examples.js';

const OPTIONS = { apiKeyHeader: 'x-service-api-key', version: '1.2.3' };
const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
const operations = Object.values<Operation>(OPERATIONS);

describe('openApiDocument', () => {
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
    const document = openApiDocument(OPTIONS);
    const judge = answerJudge(document);
    const exampleIn = (part: unknown) =>
      (part as { content?: Record<string, { example: unknown }> } | undefined)?.content?.['application/json']
        ?.example;
    for (const operation of operations) {
      const method = operation.method.toLowerCase();
      const { requestBody, responses } = document.paths[operation.path]?.[method] ?? {};
      expectAccepted(judge, operation, exampleIn(requestBody), exampleIn(responses?.['200']));
      expectAccepted(judge, operation, EXAMPLES[operation.id].request, EXAMPLES[operation.id].response);
    }
  });
});

function expectAccepted(
  judge: ReturnType<typeof answerJudge>,
  { path, method: name, request: wanted, response: given }: Operation,
  request: unknown,
  response: unknown,
): void {
  const method = name.toLowerCase();
  const headers = { get: () => 'x' };
  expect(judge.judge(path, method, { status: 200, headers, body: response })).toEqual([]);
  expect(() => parseInput(given, response)).not.toThrow();
  if (request === undefined) return;
  expect(judge.acceptsRequest(path, method, request)).toBe(true);
  const inPath = path.includes('{') ? { batchId: BATCH_ID } : {};
  const input = Array.isArray(request) ? request : { ...(request as object), ...inPath };
  expect(() => parseInput(wanted ?? given, input)).not.toThrow();
}

describe('what openApiDocument says of limits and keys', () => {
  const document = openApiDocument({
    ...OPTIONS,
    rateLimits: { burn: { points: 100, windowSeconds: 1 } },
  });
  const schemas = document.components['schemas'] as Record<string, Record<string, unknown>>;
  const propertiesOf = (name: string) =>
    schemas[name]?.['properties'] as Record<string, Record<string, unknown>>;
  const describedAs = (id: string) =>
    Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .find(({ operationId }) => operationId === id);

  it('lists and texts have their greatest lengths', () => {
    expect(schemas['BurnBatchRequest']).toMatchObject({ type: 'array', maxItems: 1_000 });
    expect(propertiesOf('InitBatchRequest')['pipelines']).toMatchObject({ maxItems: 1_000 });
    expect(propertiesOf('BurnRequest')['type']).toMatchObject({ maxLength: 64 });
    expect(propertiesOf('ExecuteBatchRequest')).toMatchObject({
      batchId: { maxLength: 36 },
      signedTx: { maxLength: 1_644 },
    });
    expect(JSON.stringify(describedAs('getBatch')?.parameters)).toContain('beyond 200 characters');
    expect(JSON.stringify(describedAs('burn')?.requestBody)).toContain('at most 4194304 bytes, 80000 values');
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
});
