/** `flywheel serve`: what the server is started with, what is said of it, and how it ends. */
import { describe, expect, it } from 'vitest';
import type { RunningServer, ServeOptions } from '../../../../src/cli/context.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { complaint, READER, refusal, refuse } from '../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

const URL = 'http://127.0.0.1:8787';

/** A command line whose server is asked to stop as soon as it listens, and what it was started with. */
function cliWith(options: TestCliOptions = {}, server: Partial<RunningServer> = {}) {
  const started: ServeOptions[] = [];
  const closed: string[] = [];
  const stop = new AbortController();
  const openers: TestCliOptions['openers'] = {
    startServer: async (_settings, asked) => {
      started.push(asked);
      queueMicrotask(() => stop.abort());
      return {
        url: URL,
        failed: new Promise(() => undefined),
        close: async () => void closed.push(URL),
        ...server,
      };
    },
  };
  return { cli: testCli({ ...options, openers, signal: stop.signal }), started, closed };
}

const DEFAULTS = {
  ...{ host: '127.0.0.1', port: 8_787, logLevel: 'info', metricsToken: null, shutdownGraceMs: 30_000 },
  ...{ rates: {}, keyRates: {}, corsOrigins: [], bearer: false },
};

describe('serve', () => {
  it('says where it listens, and closes when it is asked to stop', async () => {
    const { cli, started, closed } = cliWith();
    const { exit, stdout, stderr } = await cli.run('serve');
    expect([exit, stdout, stderr]).toEqual([0, `{"url":"${URL}"}\n`, '']);
    expect(started).toEqual([{ ...DEFAULTS, maxBodyBytes: expect.any(Number) }]);
    expect(closed).toEqual([URL]);
  });

  it('tells people what happens', async () => {
    const { stdout, stderr } = await cliWith(READER).cli.run('serve');
    expect([stdout, stderr]).toEqual([`Serving on ${URL}\n`, 'Stopping; what runs is finished first.\n']);
  });

  it('hands every option on, and the token for metrics from the environment', async () => {
    const { cli, started } = cliWith({ env: { FLYWHEEL_METRICS_TOKEN: 'token-1' } });
    const key = '00000000-0000-4000-8000-000000000007';
    const words = [
      ...['--host', '::1', '--port', '0', '--log-level', 'warn', '--max-body', '2048', '--bearer'],
      ...[
        '--shutdown-grace',
        '0',
        '--cors-origin',
        'https://a.example',
        '--cors-origin',
        'https://b.example',
      ],
      ...['--rate', 'burn=100/s', '--rate', 'init=10/5min', '--rate', `burn=1/h@${key}`],
    ];
    expect((await cli.run('serve', ...words)).exit).toBe(0);
    const [{ metricsToken, ...options } = { metricsToken: null }] = started;
    expect(metricsToken?.reveal()).toBe('token-1');
    expect(options).toEqual({
      ...{ host: '::1', port: 0, logLevel: 'warn', maxBodyBytes: 2_048, shutdownGraceMs: 0, bearer: true },
      rates: { burn: { points: 100, windowSeconds: 1 }, initBatch: { points: 10, windowSeconds: 300 } },
      keyRates: { [key]: { burn: { points: 1, windowSeconds: 3_600 } } },
      corsOrigins: ['https://a.example', 'https://b.example'],
    });
  });

  it.each(['0.0.0.0', '192.168.1.7', 'api.example.com', 'localhost.example.com', '127.example.com'])(
    'warns that %s is not this machine',
    async (host) => {
      const { stderr } = await cliWith().cli.run('serve', '--host', host);
      expect(JSON.parse(stderr).warning).toBe(
        `The server listens on ${host} without TLS; put a proxy with TLS in front of it.`,
      );
      expect((await cliWith().cli.run('serve', '--host', 'localhost')).stderr).toBe('');
    },
  );

  it('ends with why the server cannot go on, once it is closed', async () => {
    const failure = new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.');
    const stays = { signal: new AbortController().signal };
    const { cli, closed } = cliWith({}, { failed: Promise.resolve(failure) });
    const lasting = testCli({ ...stays, openers: { startServer: cli.context.startServer } });
    const { exit, stdout, stderr } = await lasting.run('serve');
    expect([exit, stdout]).toEqual([6, `{"url":"${URL}"}\n`]);
    expect(complaint(stderr).message).toBe('The disk is full.');
    expect(closed).toEqual([URL]);
  });

  it.each([
    [['--port', '65536'], 'ERR_INPUT_INVALID', '--port: expected a whole number from 0 to 65535'],
    [['--max-body', '1000'], 'ERR_INPUT_INVALID', '--max-body: expected a whole number from 1024'],
    [['--shutdown-grace', '1h'], 'ERR_INPUT_INVALID', '--shutdown-grace: expected a whole number'],
    [['--rate', 'burn=fast'], 'ERR_INPUT_INVALID', '--rate: expected an operation and a rate'],
    [['--rate', 'burn=1/s', '--rate', 'burn=2/s'], 'ERR_INPUT_INVALID', 'one is given twice'],
    [['--log-level', 'loud'], 'ERR_USAGE', 'Allowed choices are trace, debug'],
    [['8787'], 'ERR_USAGE', 'Too many arguments'],
  ])('refuses %j and starts nothing', async (words, code, message) => {
    const { cli, started } = cliWith();
    expect(await refusal(cli, 'serve', ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect(started).toEqual([]);
  });

  it('prints no address of a server that did not start', async () => {
    const startServer = async () => refuse('ERR_LOCAL_NOT_FOUND', 'There is no flywheel here.');
    const answer = await refusal(testCli({ openers: { startServer } }), 'serve');
    expect(answer).toEqual([2, 'ERR_LOCAL_NOT_FOUND', 'There is no flywheel here.']);
  });
});
