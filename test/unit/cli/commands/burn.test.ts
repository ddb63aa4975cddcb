/** `flywheel burn`: what is sent, what is printed, and what becomes of the key. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../../src/cli/config/settings.js';
import type { OpenedService } from '../../../../src/cli/context.js';
import type { Journal } from '../../../../src/cli/journal/journal.js';
import { EXAMPLES } from '../../../../src/contract/examples.js';
import type { ForeseenFailure } from '../../../../src/contract/foresight.js';
import type { BurnResult } from '../../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../../src/values/digest.js';
import { READER, refusal, refuse } from '../../../support/commands.js';
import { replacing } from '../../../support/doubles.js';
import { exampleReply, fakeService } from '../../../support/fake-service.js';
import { testCli } from '../../../support/in-process.js';

const WORDS = ['burn', '--type', 'WATCH_AD', '--proof', '{"a":1}', '--amount', '12.5'];
const RESULT = EXAMPLES.burn.response as BurnResult;

/** The last line of standard error. */
const last = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '');

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
    expect(await cli.pending()).toEqual([]);
  });

  it('prints lines for people on a terminal, without colour when NO_COLOR is set', async () => {
    const cli = testCli({ tty: { stdout: true, stderr: true }, env: { NO_COLOR: '1', FORCE_COLOR: '3' } });
    const { stdout } = await cli.run(...WORDS);
    expect(stdout).toBe(
      [
        'Burned 12.5 tokens.',
        'transaction',
        // Longer than the terminal is wide: it begins at the edge.
        RESULT.txHash,
        `proof hash   ${RESULT.hash}`,
        `proof type   ${RESULT.type}`,
        `date         ${RESULT.dateBurned}`,
        '',
      ].join('\n'),
    );
  });

  it.each([
    [true, /^Give it more: `flywheel local fund --to burn-wallet --tokens N`\.$/],
    [false, /^Send what is missing to the address that is named; `flywheel vault` shows/],
  ])('says where tokens come from that are missing (on this machine: %s)', async (isOnThisMachine, hint) => {
    const cli = testCli({ opened: { isOnThisMachine } });
    cli.service.answer('burn', () => {
      throw new FlywheelError(
        'ERR_BURN_TOKENOMICS_FAILED',
        'The burn wallet 4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T has 1 FLY left, 12.5 FLY are needed; send it FLY.',
        { status: 400 },
      );
    });
    const { exit, stderr } = await cli.run(...WORDS, ...(isOnThisMachine ? [] : ['--yes']));
    expect([exit, JSON.parse(stderr).hint]).toEqual([5, expect.stringMatching(hint)]);
  });

  it('says what is left, where that is known without a network', async () => {
    const change = (after: string) => ({ before: '1250', after });
    const foresight = {
      burns: async (requests: readonly unknown[]) => {
        expect(requests).toEqual([]);
        return {
          failures: [],
          burnWallet: change('1237.5'),
          supply: change('999987.5'),
          usedToday: change('12.5'),
        };
      },
      batch: async () => {
        throw new TypeError('Nobody asked for a batch.');
      },
    };
    const left = async (isOnThisMachine: boolean): Promise<readonly string[]> => {
      const opened = { foresight, isOnThisMachine, symbol: 'FLY' };
      const { stdout } = await testCli({ tty: { stdout: true }, env: { NO_COLOR: '1' }, opened }).run(
        ...WORDS,
        '--yes',
      );
      return stdout.split('\n').slice(0, 3);
    };
    expect(await left(true)).toEqual([
      'Burned 12.5 FLY.',
      'burn wallet  1,237.5 FLY left',
      'supply       999,987.5 FLY left',
    ]);
    expect(await left(false)).toEqual(['Burned 12.5 FLY.', 'transaction', RESULT.txHash]);
  });

  it('burns once under a key that was given, and a UUID is one key in any case', async () => {
    const cli = testCli();
    const key = 'ABCDEF00-0000-4000-8000-000000000000';
    const first = await cli.run(...WORDS, '--idempotency-key', key);
    const second = await cli.run(...WORDS, '--idempotency-key', key.toLowerCase());
    expect([second.exit, second.stdout]).toEqual([0, first.stdout]);
    expect(JSON.parse(second.stderr).notice).toContain('Done before, on 2026-01-31T12:00:00.000Z');
    expect(cli.service.calls.map(({ call }) => call.idempotencyKey)).toEqual([key.toLowerCase()]);
    const other = await cli.run(...WORDS, '--persist-onchain', '--idempotency-key', key);
    expect([other.exit, JSON.parse(other.stderr).error]).toEqual([5, 'ERR_IDEMPOTENCY_KEY_REUSED']);
  });

  it('waits between two looks for another process that is doing the same', async () => {
    const cli = testCli();
    const { openService } = cli.context;
    const naps: number[] = [];
    let looks = 0;
    const busyAtFirst = (journal: Journal): Journal =>
      replacing(journal, {
        begin: (request) => {
          looks += 1;
          if (looks > 2) return journal.begin(request);
          return { status: 'busy', process: '4711-boot', since: '2026-01-31T11:59:00.000Z' };
        },
      });
    Object.assign(cli.context, {
      sleep: async (ms: number) => {
        naps.push(ms);
      },
      openService: async (settings: Settings) => {
        const opened = await openService(settings);
        return { ...opened, journal: async () => busyAtFirst(await opened.journal()) };
      },
    });
    const { exit, stderr } = await cli.run(...WORDS);
    expect([exit, cli.service.calls.length]).toEqual([0, 1]);
    expect(stderr.match(/Process 4711 is doing this very operation; waiting for it\./g)).toHaveLength(1);
    expect([naps.length, naps.every((ms) => ms >= 100)]).toEqual([2, true]);
  });

  it('takes any text for a key, as it is', async () => {
    const cli = testCli();
    expect((await cli.run(...WORDS, '--idempotency-key', 'Order-1')).exit).toBe(0);
    expect(cli.service.calls.map(({ call }) => call.idempotencyKey)).toEqual(['Order-1']);
  });

  it('tells the id of the request, if there is one, to those who want to know more', async () => {
    const cli = testCli();
    const answer = exampleReply('burn');
    for (const [meta, told] of [
      [{ replayed: false, requestId: 'r-7' }, true],
      [{ replayed: false }, false],
    ] as const) {
      cli.service.answer('burn', () => ({ ...answer, meta }));
      const { stderr } = await cli.run(...WORDS, '--verbose');
      expect([stderr.includes('request id: r-7'), stderr.includes('request id:')]).toEqual([told, told]);
      expect((await cli.run(...WORDS)).stderr).not.toContain('request id:');
    }
  });

  it('is a new burn each time, unless --once says otherwise', async () => {
    const cli = testCli();
    for (const more of [[], [], ['--once'], ['--once']])
      expect((await cli.run(...WORDS, ...more)).exit).toBe(0);
    expect(cli.service.calls).toHaveLength(3);
    expect(new Set(cli.service.calls.map(({ call }) => call.idempotencyKey)).size).toBe(3);
    expect((await cli.run(...WORDS, '--once', '--again')).exit).toBe(0);
    expect(cli.service.calls).toHaveLength(4);
    expect((await cli.run(...WORDS, '--again')).exit).toBe(2);
  });

  it.each([
    ['ERR_INVALID_PROOF', 5, []],
    ['ERR_UNAUTHORIZED', 4, []],
    ['ERR_RATE_LIMIT_EXCEEDED', 6, []],
    ['ERR_DUPLICATE_IDEMPOTENCY_KEY', 6, ['burn open']],
    ['ERR_OUTCOME_UNKNOWN', 7, ['burn open']],
    ['ERR_UNAVAILABLE', 6, ['burn open']],
    ['ERR_INTERNAL', 1, ['burn open']],
  ] as const)('exits for %s with %i and leaves pending %j', async (code, exitCode, left) => {
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
    expect(await cli.pending()).toEqual(left);
  });

  it('does not say that nothing was done when a file breaks off in the middle', async () => {
    const service = fakeService();
    service.answer('burn', () => {
      throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.');
    });
    const cli = testCli({ service });
    const { exit, stderr } = await cli.run(...WORDS);
    expect([exit, JSON.parse(stderr)]).toMatchObject([
      7,
      {
        error: 'ERR_OUTCOME_UNKNOWN',
        message: expect.stringMatching(
          /^What came of the operation begun .* is not known; it broke off: The disk is full\.$/,
        ),
        hint: expect.stringMatching(/^This resumes safely: flywheel pending resume /),
      },
    ]);
    expect(await cli.pending()).toEqual(['burn open']);
  });

  it.each([
    ['ERR_UNAUTHORIZED'],
    ['ERR_KEY_SCOPES_UNAUTHORIZED'],
    ['ERR_NOT_FOUND'],
    ['ERR_PAYLOAD_TOO_LARGE'],
    ['ERR_RATE_LIMIT_EXCEEDED'],
    ['ERR_INVALID_REQUEST'],
    ['ERR_DAILY_LIMIT_EXCEEDED'],
  ] as const)(
    'burns once when an answer is lost, the second try gets %s and the third goes well',
    async (code) => {
      const service = fakeService();
      const failures = [
        new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.'),
        new FlywheelError(code, 'Not now.'),
      ];
      service.answer('burn', () => {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return exampleReply('burn');
      });
      const cli = testCli({ service });
      expect((await cli.run(...WORDS)).exit).toBe(7);
      const second = await cli.run(...WORDS);
      expect([second.exit, last(second.stderr).error]).toEqual([7, 'ERR_OUTCOME_UNKNOWN']);
      expect(last(second.stderr).message).toContain('asking again failed: Not now.');
      expect(await cli.pending()).toEqual(['burn open']);
      expect((await cli.run(...WORDS)).exit).toBe(0);
      expect(new Set(service.calls.map(({ call }) => call.idempotencyKey)).size).toBe(1);
      expect(await cli.pending()).toEqual([]);
    },
  );

  it('gives up the key when the burn itself has failed, or the service says that it was never used', async () => {
    const service = fakeService();
    const errors = [
      new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.'),
      new FlywheelError('ERR_BURN_TOKENOMICS_FAILED', 'Not enough tokens.'),
      new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.'),
      new FlywheelError('ERR_DAILY_LIMIT_EXCEEDED', 'Too much.', { keyUnused: true }),
    ];
    service.answer('burn', () => {
      throw errors.shift();
    });
    const cli = testCli({ service });
    const exits: number[] = [];
    for (let run = 0; run < 4; run += 1) exits.push((await cli.run(...WORDS)).exit);
    expect(exits).toEqual([7, 5, 7, 5]);
    expect(await cli.pending()).toEqual([]);
    expect(new Set(service.calls.map(({ call }) => call.idempotencyKey)).size).toBe(2);
  });

  it('prints the exact command that resumes when the outcome is unknown', async () => {
    const service = fakeService();
    service.answer('burn', () => {
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    });
    const cli = testCli({ service });
    const { hint } = JSON.parse((await cli.run(...WORDS)).stderr);
    const line = /^This resumes safely: flywheel (pending resume [0-9a-f]{8})$/.exec(hint)?.[1] ?? '';
    service.answer('burn', () => exampleReply('burn'));
    const resumed = await cli.run(...line.split(' '));
    expect([resumed.exit, resumed.stdout]).toEqual([0, `${JSON.stringify(RESULT)}\n`]);
    expect(new Set(service.calls.map(({ call }) => call.idempotencyKey)).size).toBe(1);
    expect(await cli.pending()).toEqual([]);
  });

  it('prints a result again, and burns nothing, when it could not be written', async () => {
    const broken = testCli({ unwritable: 'the disk is full' });
    const first = await broken.run(...WORDS);
    expect([first.exit, last(first.stderr).error]).toEqual([1, 'ERR_OUTPUT_FAILED']);
    expect(last(first.stderr).message).toContain(RESULT.txHash);
    expect(await broken.pending()).toEqual(['burn done']);
    const mended = testCli({ home: broken.home });
    const second = await mended.run(...WORDS);
    expect([second.exit, second.stdout]).toEqual([0, `${JSON.stringify(RESULT)}\n`]);
    expect(mended.service.calls).toEqual([]);
    expect(await mended.pending()).toEqual([]);
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
    expect(await cli.pending()).toEqual(['burn open']);
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
    ['--amount', '1e9', 'expected a positive decimal number such as 12.5'],
    ['--amount', 'Infinity', 'expected a positive decimal number'],
    ['--amount', '1,000', 'expected a positive decimal number'],
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
    expect(await cli.pending()).toEqual([]);
  });

  it.each([
    [{ explorer: 'mainnet' }, 'on mainnet'],
    [{ explorer: null }, 'on a cluster of your own'],
    [{ kind: 'remote' }, 'through '],
  ] as const)('asks a person before it burns what has worth, %o', async (place, where) => {
    const pins = { mint: 'Mint', facts: {} } as never;
    const opened = { pins, isOnThisMachine: false, ...place };
    const tty = { stdin: true, stdout: true, stderr: true };
    const declined = testCli({ opened, tty, answers: ['n'] });
    const { exit, questions } = await declined.run(...WORDS);
    expect([exit, declined.service.calls]).toEqual([130, []]);
    expect(questions.join()).toContain(`for WATCH_AD of Mint ${where}`);
    const accepted = testCli({ opened, tty, answers: ['y'] });
    expect([(await accepted.run(...WORDS)).exit, accepted.service.calls.length]).toEqual([0, 1]);
    const sandbox = testCli({ opened: { pins }, tty });
    expect((await sandbox.run(...WORDS)).questions).toEqual([]);
  });

  it('takes base units of a mint whose decimals are known, digit by digit', async () => {
    const pins = { mint: 'Mint', facts: { 'mint.decimals': '6' } } as never;
    const words = ['burn', '--type', 'T', '--proof', '{}', '--base-units', '--amount'];
    const cli = testCli({ opened: { pins } });
    expect((await cli.run(...words, '12500001')).exit).toBe(0);
    expect(cli.service.calls[0]?.input).toMatchObject({ burnAmount: 12.500001 });
    for (const amount of ['12.5', '1e6', '0', '-1', '18446744073709551616'])
      expect([amount, (await cli.run(...words, amount)).exit]).toEqual([amount, 2]);
    // Beyond what a JSON number keeps it is refused, never rounded.
    const { stderr } = await cli.run(...words, '18446744073709551615');
    expect(last(stderr).message).toContain('cannot be sent as a JSON number without changing it');
    const unknown = testCli();
    expect(last((await unknown.run(...words, '1')).stderr).message).toContain(
      'how many decimals the mint has',
    );
    expect([cli.service.calls.length, unknown.service.calls.length]).toEqual([1, 0]);
  });

  it('refuses more decimals than the mint has before anything is sent', async () => {
    const pins = { mint: 'Mint', facts: { 'mint.decimals': '2' } } as never;
    const cli = testCli({ opened: { pins } });
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

  it.each([
    [['--once', '--idempotency-key', 'k'], '--idempotency-key and --once exclude each other.'],
    [['--again'], '--again goes with --once; without it every burn is a new one.'],
    [['--idempotency-key', 'x'.repeat(256)], '--idempotency-key takes 1 to 255 visible ASCII characters.'],
    [['--only-new'], "Unknown option '--only-new'"],
    [['12'], 'Too many arguments'],
  ])('refuses %j and sends nothing', async (words, message) => {
    const cli = testCli();
    expect(await refusal(cli, ...WORDS, ...words)).toEqual([
      2,
      'ERR_USAGE',
      expect.stringContaining(message),
    ]);
    expect([cli.service.calls, await cli.pending()]).toEqual([[], []]);
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

describe('burn --dry-run', () => {
  const changes = {
    burnWallet: { before: '100', after: '87.5' },
    supply: { before: '1000', after: '987.5' },
    usedToday: { before: '0', after: '12.5' },
  };
  /** Somebody who can look ahead, and sees these failures. */
  const ahead = (...failures: readonly ForeseenFailure[]): Partial<OpenedService> => ({
    foresight: {
      burns: async () => ({ failures, ...changes }),
      batch: async () => refuse('ERR_INTERNAL', 'No.'),
    },
  });
  const hash = proofHash({ a: 1 });
  const plan = { dryRun: true, type: 'WATCH_AD', hash, amount: 12.5 };

  it('says what it would come to, as far as somebody knows, and sends nothing', async () => {
    const cli = testCli();
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--dry-run');
    expect([exit, stderr, stdout]).toEqual([0, '', `${JSON.stringify({ ...plan, foreseen: null })}\n`]);
    expect([cli.service.calls, await cli.pending()]).toEqual([[], []]);
    const seen = await testCli({ opened: ahead() }).run(...WORDS, '--dry-run');
    expect(seen.stdout).toBe(`${JSON.stringify({ ...plan, foreseen: changes })}\n`);
  });

  it('tells people the balances before and after', async () => {
    const { stdout } = await testCli({ ...READER, opened: ahead() }).run(...WORDS, '--dry-run');
    expect(stdout).toBe(
      [
        'Nothing was sent.',
        'amount       12.5 tokens',
        `proof hash   ${hash}`,
        'proof type   WATCH_AD',
        'burn wallet  100 → 87.5 tokens',
        'supply       1,000 → 987.5 tokens',
        'daily burn   0 → 12.5 tokens used',
        '',
      ].join('\n'),
    );
  });

  it('is refused with what the burn would be refused with', async () => {
    const failure = { index: 0, type: 'ERR_INVALID_PROOF', message: 'The type is not known.' };
    const answer = await refusal(testCli({ opened: ahead(failure) }), ...WORDS, '--dry-run');
    expect(answer).toEqual([5, 'ERR_INVALID_PROOF', 'The type is not known.']);
  });
});
