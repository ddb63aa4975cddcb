/** `flywheel local rpc`: what the node is started with, what is said of it, and how it ends. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LocalRpcTerms, RunningRpc } from '../../../../../src/cli/context.js';
import { FlywheelError } from '../../../../../src/errors/flywheel-error.js';
import { complaint, READER, refusal, refuse } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const ADDRESSES = { url: 'http://127.0.0.1:8899', webSocketUrl: 'ws://127.0.0.1:8900' };

/** A command line whose node is asked to stop as soon as it listens, unless it fails first. */
function cliWith(options: TestCliOptions = {}, failure?: FlywheelError) {
  const started: LocalRpcTerms[] = [];
  const closed: string[] = [];
  const stop = new AbortController();
  const failed: RunningRpc['failed'] =
    failure === undefined ? new Promise(() => undefined) : Promise.resolve(failure);
  const openers: TestCliOptions['openers'] = {
    startLocalRpc: async (_settings, terms) => {
      started.push(terms);
      if (failure === undefined) queueMicrotask(() => stop.abort());
      return { ...ADDRESSES, failed, close: async () => void closed.push(ADDRESSES.url) };
    },
  };
  return { cli: testCli({ ...options, openers, signal: stop.signal }), started, closed };
}

const DEFAULTS = {
  ...{ host: '127.0.0.1', port: 8_899, slotMs: 400, onDemand: false, faults: [], seed: 1 },
  ...{ confirmedAfter: undefined, finalizedAfter: undefined },
};

describe('local rpc', () => {
  it('says where it listens, and closes when it is asked to stop', async () => {
    const { cli, started, closed } = cliWith();
    const { exit, stdout, stderr } = await cli.run('local', 'rpc');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(ADDRESSES)}\n`, '']);
    expect([started, closed]).toEqual([[DEFAULTS], [ADDRESSES.url]]);
  });

  it('tells people what happens', async () => {
    const { stdout, stderr } = await cliWith(READER).cli.run('local', 'rpc');
    expect(stdout).toBe(
      `A test cluster is at ${ADDRESSES.url}, its subscriptions at ${ADDRESSES.webSocketUrl}\n`,
    );
    expect(stderr).toBe('Stopping.\n');
  });

  it('hands every option on, and faults from the words or from a file', async () => {
    const { cli, started } = cliWith();
    const words = [
      ...['--host', '::1', '--port', '0', '--slot-ms', '10', '--on-demand', '--seed', '7'],
      ...['--confirmed-after', '0', '--finalized-after', '300', '--faults', ' [{"fault":"drop"}]'],
    ];
    expect((await cli.run('local', 'rpc', ...words)).exit).toBe(0);
    const faults = [{ fault: 'drop' }];
    expect(started).toEqual([
      ...[
        {
          host: '::1',
          port: 0,
          slotMs: 10,
          onDemand: true,
          seed: 7,
          confirmedAfter: 0,
          finalizedAfter: 300,
          faults,
        },
      ],
    ]);
    const other = cliWith();
    writeFileSync(join(other.cli.home, 'faults.json'), JSON.stringify(faults));
    expect((await other.cli.run('local', 'rpc', '--faults', 'faults.json')).exit).toBe(0);
    expect(other.started).toEqual([{ ...DEFAULTS, faults }]);
  });

  it('warns who else can reach its treasury', async () => {
    const { stderr } = await cliWith().cli.run('local', 'rpc', '--host', '0.0.0.0');
    expect(JSON.parse(stderr).warning).toBe(
      'Everybody who reaches 0.0.0.0 can take SOL from the treasury of this test cluster.',
    );
  });

  it('ends with why it cannot go on, once it is closed', async () => {
    const { cli, closed } = cliWith({}, new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.'));
    const { exit, stderr } = await cli.run('local', 'rpc');
    expect([exit, complaint(stderr).message, closed]).toEqual([6, 'The disk is full.', [ADDRESSES.url]]);
  });

  it.each([
    [['--port', '65535'], 'ERR_INPUT_INVALID', '--port: expected a whole number from 0 to 65534'],
    [['--slot-ms', '9'], 'ERR_INPUT_INVALID', '--slot-ms: expected a whole number from 10 to 60000'],
    [
      ['--confirmed-after', '301'],
      'ERR_INPUT_INVALID',
      '--confirmed-after: expected a whole number from 0 to 300',
    ],
    [['--faults', '[{'], 'ERR_INPUT_INVALID', '--faults: not JSON: '],
    [['--faults', 'none.json'], 'ERR_INPUT_INVALID', 'none.json: there is no such file.'],
    [['8899'], 'ERR_USAGE', 'Too many arguments'],
  ])('refuses %j and starts nothing', async (words, code, message) => {
    const { cli, started } = cliWith();
    expect(await refusal(cli, 'local', 'rpc', ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect(started).toEqual([]);
  });

  it('prints no address of a node that did not start', async () => {
    const startLocalRpc = async () => refuse('ERR_LOCAL_NOT_FOUND', 'There is no flywheel here.');
    const answer = await refusal(testCli({ openers: { startLocalRpc } }), 'local', 'rpc');
    expect(answer).toEqual([2, 'ERR_LOCAL_NOT_FOUND', 'There is no flywheel here.']);
  });
});
