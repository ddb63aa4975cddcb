/** Init and execute that outlast a request: the client polls the batch, and repeats the request once it is over. */
import { describe, expect, it } from 'vitest';
import type { RemoteServiceDeps } from '../../../src/client/remote-service.js';
import type { Call, Waiting } from '../../../src/contract/call.js';
import type { InitBatchRequest } from '../../../src/contract/schemas/batch.js';
import type { InputOf } from '../../../src/contract/service.js';
import { Secret } from '../../../src/values/secret.js';
import { clientTo } from '../../support/http.js';
import { inTurn, json, type StubAnswer } from '../../support/http-stub.js';
import { failureOf } from '../../support/service.js';
import { EXAMPLES } from '../../support/wire-examples.js';

const call: Call = { credential: new Secret('secret-api-key-1234567890'), idempotencyKey: 'key-1' };
const init = EXAMPLES.initBatch.request as InitBatchRequest;
const execute = EXAMPLES.executeBatch.request as InputOf<'executeBatch'>;
const busy = (error: string): StubAnswer => json(409, { error, message: 'At it.' }, { 'retry-after': '1' });
const RUNNING = busy('ERR_DUPLICATE_IDEMPOTENCY_KEY');
const silence: StubAnswer = () => undefined;
const batch = (status: string): StubAnswer =>
  json(200, { ...(EXAMPLES.getBatch.response as object), status });

const SET_UP = 'AVAILABLE_TO_QUEUE';

describe('an operation that the service is at', () => {
  const serve = async (
    routes: Readonly<Record<string, readonly StubAnswer[]>>,
    deps: Partial<RemoteServiceDeps> = {},
  ) => {
    const counts = new Map<string, number>();
    const client = await clientTo((request, response) => {
      const name = `${request.method} ${request.url.replace(/.*\/batch/, '')}`;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      inTurn(...(routes[name] ?? [json(404, {})]))(request, response, count);
    }, deps);
    const asked = (): readonly string[] =>
      client.stub.requests.map(({ method, url }) => `${method} ${url.replace(/.*\/batch/, '')}`);
    return { ...client, asked };
  };

  it('is waited for by the status of the batch, and asked for once more: init', async () => {
    const heard: Waiting[] = [];
    const { service, asked, waits, stub } = await serve({
      'POST /init': [RUNNING, json(200, EXAMPLES.initBatch.response)],
      'GET /current': [batch(SET_UP), json(503, {}), batch(SET_UP), batch('FINALIZED')],
    });
    const onWaiting = (waiting: Waiting): void => void heard.push(waiting);
    const { value } = await service.initBatch(init, { ...call, onWaiting });
    expect(value).toEqual(EXAMPLES.initBatch.response);
    expect(asked().filter((one) => one === 'POST /init')).toHaveLength(2);
    expect(asked().at(-1)).toBe('POST /init');
    const told = heard.map((waiting) => 'status' in waiting && waiting.status);
    expect(told).toEqual([SET_UP, SET_UP, 'FINALIZED']);
    expect(waits.filter((ms) => ms === 2_000)).toHaveLength(3);
    const inits = stub.requests.filter(({ url }) => url.endsWith('/init'));
    expect(new Set(inits.map(({ headers }) => headers['x-idempotency-key']))).toEqual(new Set(['key-1']));
  });

  it.each(['ERR_DUPLICATE_IDEMPOTENCY_KEY', 'ERR_BATCH_IN_PROGRESS'])(
    'is waited for by the status of the batch, and asked for once more: execute, after %s',
    async (code) => {
      const id = execute.batchId;
      const { service, asked } = await serve({
        'POST /execute': [busy(code), json(200, EXAMPLES.executeBatch.response)],
        [`GET /${id}`]: [batch('FINALIZED'), batch('FINALIZED'), batch('EXECUTED')],
      });
      expect((await service.executeBatch(execute, call)).value).toEqual(EXAMPLES.executeBatch.response);
      const look = `GET /${id}`;
      expect(asked()).toEqual(['POST /execute', look, look, look, 'POST /execute']);
    },
  );

  it('is waited for where the time of one request ran out', async () => {
    const { service, asked } = await serve(
      {
        'POST /init': [silence, RUNNING, json(200, EXAMPLES.initBatch.response)],
        'GET /current': [batch(SET_UP), batch('FINALIZED')],
      },
      { requestTimeoutMs: 50 },
    );
    expect((await service.initBatch(init, call)).value).toEqual(EXAMPLES.initBatch.response);
    expect(asked().filter((one) => one === 'POST /init')).toHaveLength(3);
  });

  it('is asked for every half a minute where the status says nothing, until all the time is over', async () => {
    const { service, asked, waits } = await serve(
      { 'POST /execute': [RUNNING], [`GET /${execute.batchId}`]: [batch('FINALIZED')] },
      { totalTimeoutMs: 65_000 },
    );
    expect(await failureOf(service.executeBatch(execute, call))).toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      message: 'At it. The total time limit of 65 s is over.',
      options: { idempotencyKey: 'key-1' },
    });
    expect(asked().filter((one) => one === 'POST /execute')).toHaveLength(3);
    expect(waits).toEqual(new Array(32).fill(2_000));
  });

  it('is not waited for where it may be asked for at any time: a burn', async () => {
    const { stub, service } = await clientTo(RUNNING);
    expect(await failureOf(service.burn(EXAMPLES.burn.request as never, call))).toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
    });
    expect(stub.requests).toHaveLength(3);
  });
});
