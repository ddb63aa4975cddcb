import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RemoteServiceDeps } from '../../../src/client/request-writer.js';
import { Secret } from '../../../src/values/secret.js';
import { remoteClient } from '../../support/http.js';
import { startTlsServer, startTunnel, TEST_CERTIFICATE } from '../../support/http-tls.js';

const KEY = 'secret-api-key-1234567890';
const call = { credential: new Secret(KEY) };

describe('https', () => {
  let server: Awaited<ReturnType<typeof startTlsServer>>;
  let tunnel: Awaited<ReturnType<typeof startTunnel>>;

  beforeEach(async () => {
    server = await startTlsServer();
    tunnel = await startTunnel(server.port);
  });
  afterEach(async () => {
    await tunnel.close();
    await server.close();
  });
  const current = async (url: string, deps: Partial<RemoteServiceDeps> = {}): Promise<unknown> => {
    const { service } = remoteClient(url, deps);
    try {
      return (await service.currentBatch(call)).value;
    } finally {
      await service.close();
    }
  };

  it('is refused without a second try when the certificate is not trusted, saying what to do', async () => {
    await expect(current(`https://127.0.0.1:${server.port}`)).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
      exitCode: 6,
      message: expect.stringContaining('not trusted'),
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
    expect(server.asked).toEqual([]);
  });

  it('is reached when its authority is named, but not under another name', async () => {
    const extraCa = TEST_CERTIFICATE;
    expect(await current(`https://127.0.0.1:${server.port}`, { extraCa })).toBeNull();
    await expect(current(`https://localhost:${server.port}`, { extraCa })).rejects.toMatchObject({
      message: expect.stringContaining('not trusted'),
    });
  });

  it('passes through the proxy of the environment, which sees only the host', async () => {
    const deps = { extraCa: TEST_CERTIFICATE, proxy: { httpsProxy: `http://127.0.0.1:${tunnel.port}` } };
    expect(await current('https://api.flywheel.test/base', deps)).toBeNull();
    expect(tunnel.asked).toEqual(['api.flywheel.test:443']);
    expect(server.asked).toEqual(['/base/v1/flywheel/batch/current']);
    expect(tunnel.seen.join('')).not.toContain(KEY);
  });

  it('goes straight to hosts that need no proxy', async () => {
    const proxy = { httpsProxy: `http://127.0.0.1:${tunnel.port}`, noProxy: 'flywheel.test' };
    await expect(current('https://api.flywheel.test', { proxy })).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
    });
    expect(tunnel.asked).toEqual([]);
  });

  it('says so when the proxy is not there', async () => {
    await tunnel.close();
    const proxy = { httpsProxy: `http://127.0.0.1:${tunnel.port}` };
    await expect(current('https://api.flywheel.test', { proxy })).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
      exitCode: 6,
    });
  });
});
