import { describe, expect, it } from 'vitest';
import type { Call, Reply } from '../../../src/contract/call.js';
import { COMMON_ERRORS, OPERATION_LIST, pathParameters } from '../../../src/contract/operations.js';
import { callOperation, eachOperation } from '../../../src/contract/service.js';
import { ERRORS, type ErrorCode } from '../../../src/errors/codes.js';

const call: Call = { credential: null };

describe('eachOperation', () => {
  it('has a method for every operation of the table, which callOperation reaches with any input', async () => {
    const reply = { value: 'answer', meta: { replayed: false } };
    const seen: unknown[] = [];
    const operations = eachOperation(async (id, input, given) => {
      seen.push([id, input, given]);
      return reply as Reply<never>;
    });
    for (const { id } of OPERATION_LIST)
      expect(await callOperation(operations, id, { any: 1 }, call)).toBe(reply);
    const inputOf = (request: unknown) => (request === null ? null : { any: 1 });
    expect(seen).toEqual(OPERATION_LIST.map(({ id, request }) => [id, inputOf(request), call]));
  });
});

describe('the table of operations', () => {
  it('has one word and one name of a limit for each', () => {
    const words = OPERATION_LIST.map(({ word }) => word);
    const limits = OPERATION_LIST.map(({ rateLimit }) => rateLimit.name);
    expect(new Set(words).size).toBe(words.length);
    expect(new Set(limits).size).toBe(limits.length);
    expect(words.filter((word) => !/^[a-z]+(?:-[a-z]+)*$/.test(word))).toEqual([]);
  });

  it('names every code that crosses the wire, but what the server says of a path', () => {
    const named = new Set([COMMON_ERRORS, ...OPERATION_LIST.map(({ errors }) => errors)].flat());
    const wired = Object.entries(ERRORS).filter(([, { status }]) => status !== null);
    expect(wired.map(([code]) => code).filter((code) => !named.has(code as ErrorCode))).toEqual([
      'ERR_NOT_FOUND',
      'ERR_METHOD_NOT_ALLOWED',
    ]);
  });

  it('names the parameters of each path', () => {
    const named = OPERATION_LIST.filter((operation) => pathParameters(operation).length > 0);
    expect(named.map(({ id }) => id)).toContain('getBatch');
    for (const operation of named) expect(pathParameters(operation)).toEqual(['batchId']);
  });
});
