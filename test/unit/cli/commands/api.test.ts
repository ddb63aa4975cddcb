/** `flywheel api`: what is sent for which words, what is printed, and that what acts is sent under one key. */
import { describe, expect, it } from 'vitest';
import type { RawAnswer, RawRequest } from '../../../../src/contract/raw-api.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { refusal } from '../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

type Answer = Partial<RawAnswer> | FlywheelError;

/** A command line whose API answers so, one after the other. */
function cliWith(answers: readonly Answer[], options: TestCliOptions = {}) {
  const sent: (RawRequest & { key: string | undefined })[] = [];
  const rawApi = async () => ({
    close: async () => undefined,
    send: async (
      request: RawRequest,
      { idempotencyKey, onAnswer }: { idempotencyKey?: string; onAnswer: (answer: RawAnswer) => void },
    ) => {
      sent.push({ ...request, key: idempotencyKey });
      const given = answers[sent.length - 1] ?? {};
      if (given instanceof FlywheelError && given.status === undefined) throw given;
      const status = given.status ?? 200;
      const answer = {
        status,
        headers: { 'x-a': 'b' },
        text: '{"ok":true}',
        ...(given instanceof FlywheelError ? {} : given),
      };
      onAnswer(answer);
      if (given instanceof FlywheelError) throw given;
      return answer;
    },
  });
  return { ...testCli({ ...options, opened: { rawApi } }), sent };
}

const BURN = '/v1/tokenomics/burn';

describe('api', () => {
  it('puts fields into the query of a GET, and prints the body as it came', async () => {
    const cli = cliWith([{ text: '{"a":  1}' }]);
    const { exit, stdout, stderr } = await cli.run(
      ...['api', 'GET', 'v1/flywheel/batch?status=FAILED', '-f', 'a=b c', '-F', 'limit=5'],
      ...['-H', 'X-Mine: yes'],
    );
    expect([exit, stdout, stderr]).toEqual([0, '{"a":  1}', '']);
    expect(cli.sent).toEqual([
      {
        ...{ method: 'GET', path: '/v1/flywheel/batch?status=FAILED&a=b+c&limit=5' },
        ...{ headers: { 'x-mine': 'yes' }, key: undefined },
      },
    ]);
  });

  it('puts fields into the body of a POST, numbers with all their digits', async () => {
    const cli = cliWith([{}]);
    const { exit, stderr } = await cli.run(
      ...['api', 'POST', BURN, '-f', 'type=12', '-F', 'burnAmount=0.10000000000000000001'],
      ...['-F', 'persistOnchain=true', '--typed-field', 'note=text'],
    );
    const body = '{"type":"12","burnAmount":0.10000000000000000001,"persistOnchain":true,"note":"text"}';
    expect([exit, cli.sent[0]?.body]).toEqual([0, body]);
    expect(JSON.parse(stderr)).toEqual({ notice: `Idempotency key: ${cli.sent[0]?.key}` });
    expect(await cli.pending()).toEqual([]);
  });

  it('sends a file as it is, and shows status and headers when asked to', async () => {
    const cli = cliWith([{ status: 201 }], { stdin: ' {"a":1.50}\n' });
    const { stdout } = await cli.run(
      'api',
      'POST',
      '/v1/new',
      '--input',
      '-',
      '-i',
      '--idempotency-key',
      'k',
    );
    expect(cli.sent[0]).toMatchObject({ body: ' {"a":1.50}\n', key: 'k' });
    expect(stdout).toBe('HTTP/1.1 201\nx-a: b\n\n{"ok":true}');
  });

  it('repeats what has no known outcome under the same key, and by `pending resume`', async () => {
    const unknown = new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer.');
    const cli = cliWith([unknown, unknown, { text: 'done' }]);
    const words = ['api', 'POST', BURN, '-f', 'a=b'];
    expect((await cli.run(...words)).exit).toBe(7);
    expect(await cli.pending()).toEqual(['api open']);
    expect((await cli.run(...words)).exit).toBe(7);
    const { exit, stdout } = await cli.run('pending', 'resume');
    expect([exit, stdout]).toEqual([0, 'done']);
    expect(new Set(cli.sent.map(({ key }) => key)).size).toBe(1);
    expect(cli.sent.map(({ body }) => body)).toEqual(new Array(3).fill('{"a":"b"}'));
    expect(await cli.pending()).toEqual([]);
    await cli.run(...words);
    expect(new Set(cli.sent.map(({ key }) => key)).size).toBe(2);
  });

  it('prints what is no success too, and exits as it does', async () => {
    const cli = cliWith([new FlywheelError('ERR_UNAUTHORIZED', 'No.', { status: 401 })]);
    const { exit, stdout, stderr } = await cli.run('api', 'GET', '/v1/x');
    expect([exit, stdout, JSON.parse(stderr)]).toEqual([
      4,
      '{"ok":true}',
      expect.objectContaining({ error: 'ERR_UNAUTHORIZED', message: 'No.', status: 401 }),
    ]);
  });

  it('follows cursors, a line a page, and not in a circle', async () => {
    const page = (nextCursor: string | null): Answer => ({ text: JSON.stringify({ items: [], nextCursor }) });
    const cli = cliWith([page('x y'), page(null)]);
    const { stdout } = await cli.run('api', 'GET', '/v1/list?limit=1', '--paginate');
    expect(stdout).toBe('{"items":[],"nextCursor":"x y"}\n{"items":[],"nextCursor":null}\n');
    expect(cli.sent.map(({ path }) => path)).toEqual(['/v1/list?limit=1', '/v1/list?limit=1&cursor=x+y']);
    const circle = cliWith([page('a'), page('b'), page('a')]);
    expect((await circle.run('api', 'GET', '/v1/list', '--paginate')).exit).not.toBe(0);
  });

  it('gives a terminal nothing that it would obey', async () => {
    const cli = cliWith([{ text: 'a\u001b[2Jb' }], { tty: { stdout: true } });
    expect((await cli.run('api', 'GET', '/docs')).stdout).toBe('a[2Jb\n');
  });

  it.each([
    [['GET', '/x', '--input', '-'], '--input is the whole body of a POST'],
    [['POST', '/x', '--input', '-', '-f', 'a=b'], '--input is the whole body of a POST'],
    [['GET', '/x', '-f', 'a'], '--field: expected name=value'],
    [['GET', '/x', '-f', 'a=1', '-F', 'a=2'], 'A field is given twice.'],
    [['GET', '/x', '-H', 'a'], "--header: expected 'Name: value'"],
    [['GET', '/x', '--idempotency-key', 'k'], 'takes no idempotency key'],
    [['POST', BURN, '--paginate'], '--paginate is for lists'],
    [['PUT', '/x'], 'Allowed choices are GET, POST.'],
  ])('refuses %j without asking', async (words, message) => {
    const cli = cliWith([]);
    expect(await refusal(cli, 'api', ...words)).toEqual([2, 'ERR_USAGE', expect.stringContaining(message)]);
    expect(cli.sent).toEqual([]);
  });
});
