import { describe, expect, it, onTestFinished } from 'vitest';
import type { Call } from '../../../src/contract/call.js';
import type { Service } from '../../../src/contract/service.js';
import { Secret } from '../../../src/values/secret.js';
import { remoteClient } from '../../support/http.js';
import { json, startStub } from '../../support/http-stub.js';

const KEY = 'secret-api-key-1234567890';
const call: Call = { credential: new Secret(KEY) };

const start: typeof startStub = async (answer) => {
  const stub = await startStub(answer);
  onTestFinished(stub.close);
  return stub;
};
const client = (...args: Parameters<typeof remoteClient>): Service => {
  const { service } = remoteClient(...args);
  onTestFinished(() => service.close());
  return service;
};

describe('the API key', () => {
  it('is not sent over plain http except to loopback', async () => {
    for (const host of ['api.example.com', '10.0.0.1', '127.0.0.1.example.com', '[::2]', '0.0.0.0']) {
      await expect(client(`http://${host}/v1`).currentBatch(call)).rejects.toMatchObject({
        code: 'ERR_CONFIG_INVALID',
      });
    }
    const stub = await start(json(200, null));
    const port = new URL(stub.url).port;
    expect((await client(`http://localhost:${port}`).currentBatch(call)).value).toBeNull();
  });

  it('is not taken along by a redirect, wherever it leads', async () => {
    const thief = await start(json(200, null));
    const redirecting = await start(
      (request, response) =>
        void response
          .writeHead(307, { location: request.url.includes('/same/') ? '/moved' : `${thief.url}/stolen` })
          .end(),
    );
    const burn = { type: 'A', proof: {}, burnAmount: 1, persistOnchain: false };
    for (const base of ['other', 'same'].map((one) => client(`${redirecting.url}/${one}`)))
      for (const answer of [base.currentBatch(call), base.burn(burn, call)])
        await expect(answer).rejects.toMatchObject({ code: 'ERR_RESPONSE_INVALID', exitCode: 5 });
    expect(thief.requests).toEqual([]);
    expect(redirecting.requests).toHaveLength(4);
  });

  it('cannot smuggle in another header, nor can the idempotency key', async () => {
    const stub = await start(json(200, null));
    for (const key of ['a\r\nx-evil: 1', 'a\nb', 'with space', 'é', '\0', '']) {
      const error = await client(stub.url)
        .currentBatch({ credential: new Secret(key) })
        .catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ code: 'ERR_CONFIG_INVALID' });
      if (key.length > 1) expect(String(error)).not.toContain(key);
    }
    const burn = { type: 'A', proof: {}, burnAmount: 1, persistOnchain: false };
    for (const idempotencyKey of ['a\r\nx-evil: 1', 'é', '', 'x'.repeat(256)]) {
      await expect(client(stub.url).burn(burn, { ...call, idempotencyKey })).rejects.toMatchObject({
        code: 'ERR_INVALID_REQUEST',
      });
    }
    await client(stub.url).currentBatch({ ...call, requestId: 'a\r\nx-evil: 1' });
    expect(stub.requests).toHaveLength(1);
    // The client replaces it by its own id.
    expect(stub.requests[0]?.headers['x-request-id']).toMatch(/^flywheel-[0-9a-f-]{36}$/);
    expect(stub.requests[0]?.headers['x-evil']).toBeUndefined();
  });

  it('goes under the name that was configured, which cannot be one with another meaning', async () => {
    const stub = await start(json(200, null));
    await client(stub.url, { apiKeyHeader: 'X-Brand-API-Key' }).currentBatch(call);
    expect(stub.requests[0]?.headers['x-brand-api-key']).toBe(KEY);
    expect(stub.requests[0]?.headers['x-service-api-key']).toBeUndefined();
    for (const apiKeyHeader of ['host', 'Content-Length', 'a b', 'a:b', '', 'x\r\ny']) {
      expect(() => client(stub.url, { apiKeyHeader })).toThrow(/header name/);
    }
  });

  it('stays out of paths, and ids cannot leave theirs', async () => {
    const stub = await start(json(200, null));
    for (const batchId of ['..', '../../metrics', 'current', 'a/b', '%2e%2e', '']) {
      await expect(client(stub.url).getBatch({ batchId }, call)).rejects.toMatchObject({
        code: 'ERR_BATCH_NOT_FOUND',
      });
    }
    expect(stub.requests).toEqual([]);
  });

  it('does not pass through a proxy to loopback', async () => {
    const proxy = await start(json(200, null));
    const stub = await start(json(200, null));
    await client(stub.url, { proxy: { httpsProxy: proxy.url } }).currentBatch(call);
    expect([proxy.requests.length, stub.requests.length]).toEqual([0, 1]);
  });
});

describe('base addresses', () => {
  it('are http or https, with a path but without user, query or fragment', async () => {
    const wrong = ['', 'x', 'ftp://a', 'https://u:p@a', 'https://u@a', 'https://:p@a', 'https://a?b=1'];
    for (const url of [...wrong, 'https://a#b', 'file:///etc/passwd'])
      expect(() => remoteClient(url)).toThrow(/API address/);
    const stub = await start(json(200, null));
    await client(`${stub.url}/deep/base/`).currentBatch(call);
    expect(stub.requests[0]?.url).toBe('/deep/base/v1/flywheel/batch/current');
  });
});
