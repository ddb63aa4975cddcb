/** `flywheel burn`: what is sent, what is printed, and what becomes of the key. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../../src/contract/examples.js';
import type { BurnResult } from '../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { testCli } from '../../support/cli.js';
import { fakeService } from '../../support/fake-service.js';

const WORDS = ['burn', '--type', 'WATCH_AD', '--proof', '{"a":1}', '--amount', '12.5'];
const RESULT = EXAMPLES.burn.response as BurnResult;

describe('burn', () => {
  it('sends the request under a key of the journal and prints the response as it is', async () => {
    const cli = testCli();
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--persist-onchain');
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout).toBe(`${JSON.stringify(RESULT)}\n`);
    const [seen] = cli.service.calls;
    expect(seen?.input).toEqual({
      type: 'WATCH_AD',
      proof: { a: 1 },
      burnAmount: 12.5,
      persistOnchain: true,
    });
    expect(seen?.call.idempotencyKey).toBe('00000000-0000-4000-8000-000000000001');
    expect(cli.journal.events).toEqual(['begin burn', 'settle']);
  });

  it('prints lines for people on a terminal, without colour when NO_COLOR is set', async () => {
    const cli = testCli({ tty: { stdout: true, stderr: true }, env: { NO_COLOR: '1', FORCE_COLOR: '3' } });
    const { stdout } = await cli.run(...WORDS);
    expect(stdout).toBe(
      [
        'Burned: SUCCESS',
        `transaction  ${RESULT.txHash}`,
        `proof hash   ${RESULT.hash}`,
        `proof type   ${RESULT.type}`,
        `date         ${RESULT.dateBurned}`,
        '',
      ].join('\n'),
    );
  });

  it('uses the key that was given and leaves the journal alone', async () => {
    const cli = testCli();
    await cli.run(...WORDS, '--idempotency-key', 'order-1');
    expect(cli.service.calls[0]?.call.idempotencyKey).toBe('order-1');
    expect(cli.journal.events).toEqual([]);
  });

  it.each([
    ['ERR_INVALID_PROOF', 5, 'settle'],
    ['ERR_UNAUTHORIZED', 4, 'settle'],
    ['ERR_RATE_LIMIT_EXCEEDED', 6, 'settle'],
    ['ERR_DUPLICATE_IDEMPOTENCY_KEY', 6, 'leave'],
    ['ERR_OUTCOME_UNKNOWN', 7, 'leave'],
    ['ERR_UNAVAILABLE', 6, 'leave'],
    ['ERR_INTERNAL', 1, 'leave'],
    ['ERR_STORE_UNAVAILABLE', 6, 'leave'],
  ] as const)('exits for %s with %i and the key is to %3$s', async (code, exitCode, fate) => {
    const service = fakeService();
    service.answer('burn', () => {
      throw new FlywheelError(code, 'It did not work.', { requestId: 'req-1' });
    });
    const cli = testCli({ service });
    const { exit, stdout, stderr } = await cli.run(...WORDS);
    expect(exit).toBe(exitCode);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toMatchObject({
      error: code,
      message: 'It did not work.',
      requestId: 'req-1',
      idempotencyKey: '00000000-0000-4000-8000-000000000001',
    });
    expect(cli.journal.events).toEqual(['begin burn', fate]);
  });

  it('prints the exact command that resumes when the outcome is unknown', async () => {
    const service = fakeService();
    service.answer('burn', () => {
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    });
    const { stderr } = await testCli({ service }).run(...WORDS);
    expect(JSON.parse(stderr).hint).toBe(
      `This resumes safely: flywheel burn --type WATCH_AD --proof '{"a":1}' --amount 12.5 --idempotency-key 00000000-0000-4000-8000-000000000001`,
    );
  });

  it('keeps the key when it is interrupted', async () => {
    const controller = new AbortController();
    const service = fakeService();
    service.answer('burn', () => {
      controller.abort();
      throw new DOMException('aborted', 'AbortError');
    });
    const cli = testCli({ service, signal: controller.signal });
    const { exit, stderr } = await cli.run(...WORDS);
    expect(exit).toBe(130);
    expect(JSON.parse(stderr).error).toBe('ERR_INTERRUPTED');
    expect(cli.journal.events).toEqual(['begin burn', 'leave']);
  });

  it.each([
    ['--amount', '0', 'expected a positive number'],
    ['--amount', '-1', 'expected a positive decimal number'],
    ['--amount', 'NaN', 'expected a positive decimal number'],
    [
      '--amount',
      '0.1000000000000000055511151231257827',
      'cannot be sent as a JSON number without changing it',
    ],
    ['--amount', '1e400', 'cannot be sent as a JSON number without changing it'],
    ['--proof', '[]', 'expected a JSON object'],
    ['--proof', '{"a":1,"a":2}', 'Duplicate key "a" (line 1, column 8).'],
    ['--proof', '{"a":', 'The text ends before the JSON value does'],
    ['--proof', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, 'nested deeper than 64 levels'],
    ['--proof', '@missing.json', 'missing.json: there is no such file.'],
    ['--proof', '@.', '.: it is a directory.'],
    ['--proof', JSON.stringify({ a: 'x'.repeat(1_048_576) }), 'at most 65536 are allowed'],
    ['--type', '', 'expected 1 to 64 characters'],
  ])('refuses %s %.40s with exit 2 and sends nothing', async (flag, value, reason) => {
    const cli = testCli();
    const words = [...WORDS];
    words[words.indexOf(flag) + 1] = value;
    const { exit, stderr } = await cli.run(...words);
    expect(exit).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: 'ERR_INPUT_INVALID' });
    expect(JSON.parse(stderr).message).toContain(reason);
    expect(cli.service.calls).toEqual([]);
    expect(cli.journal.events).toEqual([]);
  });

  it('refuses more decimals than the mint has before anything is sent', async () => {
    const trusted = { decimals: 2 } as never;
    const cli = testCli({ opened: { trusted } });
    const { exit, stderr } = await cli.run('burn', '--type', 'T', '--proof', '{}', '--amount', '1.125');
    expect(exit).toBe(2);
    expect(JSON.parse(stderr).message).toBe(
      '--amount: The amount 1.125 has more decimals than the token has (2).',
    );
    expect(cli.service.calls).toEqual([]);
  });

  it.each([
    ['a byte order mark', Buffer.from('\ufeff{"a":1}\r\n')],
    ['CRLF', Buffer.from('{\r\n"a":1\r\n}\r\n')],
  ])('reads a proof with %s from a file', async (_name, bytes) => {
    const cli = testCli();
    writeFileSync(join(cli.home, 'proof.json'), bytes);
    const { exit } = await cli.run('burn', '--type', 'T', '--proof', '@proof.json', '--amount', '1');
    expect(exit).toBe(0);
    expect(cli.service.calls[0]?.input).toMatchObject({ proof: { a: 1 } });
  });

  it('refuses a proof that is not UTF-8, and an empty one from standard input', async () => {
    const bad = testCli({ stdin: Uint8Array.of(0x7b, 0xff, 0x7d) });
    expect(
      JSON.parse((await bad.run('burn', '--type', 'T', '--proof', '-', '--amount', '1')).stderr).message,
    ).toBe('standard input: The text is not valid UTF-8.');
    const empty = testCli({ stdin: ' \n' });
    expect(
      JSON.parse((await empty.run('burn', '--type', 'T', '--proof', '-', '--amount', '1')).stderr).message,
    ).toBe('standard input: It is empty.');
  });

  it('strips control characters from what the service says', async () => {
    const service = fakeService();
    service.answer('burn', () => {
      throw new FlywheelError('ERR_INVALID_PROOF', 'bad\u001b[2J\u0007 proof\u202e');
    });
    const human = await testCli({ service, tty: { stdout: true } }).run(...WORDS);
    expect(human.stderr).toContain('error: bad[2J proof (ERR_INVALID_PROOF)');
    const json = await testCli({ service }).run(...WORDS);
    expect(json.stderr).toContain('bad\\u001b[2J\\u0007 proof\\u202e');
  });
});
