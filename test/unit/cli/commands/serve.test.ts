/** `flywheel serve`: the options of the started server. */
import { describe, expect, it } from 'vitest';
import type { ServeOptions } from '../../../../src/compose/server.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

function cliWith(options: TestCliOptions = {}) {
  const started: ServeOptions[] = [];
  const stop = new AbortController();
  const startServer: NonNullable<TestCliOptions['openers']>['startServer'] = async (_settings, asked) => {
    started.push(asked);
    queueMicrotask(() => stop.abort());
    return {
      url: 'http://127.0.0.1:8787',
      failed: new Promise(() => undefined),
      close: async () => undefined,
    };
  };
  return { cli: testCli({ ...options, openers: { startServer }, signal: stop.signal }), started };
}

describe('serve', () => {
  it('hands every option on, and the token for metrics from the environment', async () => {
    const { cli, started } = cliWith({ env: { FLYWHEEL_METRICS_TOKEN: 'token-1' } });
    const key = '00000000-0000-4000-8000-000000000007';
    const { exit } = await cli.run(
      ...['serve', '--host', '::1', '--port', '0', '--log-level', 'warn', '--bearer'],
      ...['--shutdown-grace', '0'],
      ...['--rate', 'burn=100/s', '--rate', 'init=10/5min', '--rate', 'status=2/min', '--rate', 'list=3/h'],
      ...['--rate', 'burn-batch=1/10s', '--rate', `burn=1/h@${key}`],
    );
    const [{ metricsToken, ...options } = { metricsToken: null }] = started;
    expect([exit, metricsToken?.reveal()]).toEqual([0, 'token-1']);
    expect(options).toEqual({
      ...{ host: '::1', port: 0, logLevel: 'warn', shutdownGraceMs: 0, bearer: true },
      rates: {
        ...{ burn: { points: 100, windowSeconds: 1 }, initBatch: { points: 10, windowSeconds: 300 } },
        ...{ getBatch: { points: 2, windowSeconds: 60 }, listBatches: { points: 3, windowSeconds: 3_600 } },
        burnBatch: { points: 1, windowSeconds: 10 },
      },
      keyRates: { [key]: { burn: { points: 1, windowSeconds: 3_600 } } },
    });
  });

  it('warns of an address that is not this machine', async () => {
    const others = ['0.0.0.0', '192.168.1.7', 'api.example.com', 'localhost.example.com', '127.example.com'];
    for (const host of others)
      expect(JSON.parse((await cliWith().cli.run('serve', '--host', host)).stderr).warning).toContain(host);
    expect((await cliWith().cli.run('serve', '--host', 'localhost')).stderr).toBe('');
  });
});
