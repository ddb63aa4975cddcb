/** `flywheel burn`: what is sent, what is printed, what becomes of the key, and what is asked first. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PastTransaction } from '../../../../src/chain/chain.js';
import { proofMemoText } from '../../../../src/chain/memo.js';
import type { Settings } from '../../../../src/cli/config/settings.js';
import type { OpenedService } from '../../../../src/cli/context.js';
import type { Journal } from '../../../../src/cli/journal/journal.js';
import { EXAMPLES } from '../../../../src/contract/examples.js';
import type { ForeseenFailure } from '../../../../src/contract/foresight.js';
import type { BurnPage, BurnState, ListBurnsQuery } from '../../../../src/contract/schemas/burn.js';
import type { ErrorCode } from '../../../../src/errors/codes.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../../src/values/digest.js';
import { complaint, person, READER, refusal, refuse, reply } from '../../../support/commands.js';
import { replacing } from '../../../support/doubles.js';
import { exampleReply, type FakeService, fakeService } from '../../../support/fake-service.js';
import { NOW_MS, type TestCli, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';

const WORDS = ['burn', '--type', 'WATCH_AD', '--proof', '{"a":1}', '--amount', '12.5'];
const RESULT = EXAMPLES.burn.response as { txHash: string };

const MISSING = `The burn wallet ${namedAddress('burn wallet')} has 1 FLY left, 12.5 FLY are needed; send it FLY.`;

const keys = ({ service }: TestCli) => service.calls.map(({ call }) => call.idempotencyKey);
/** A service whose burns end so, one after the other, and go well after that. */
function failing(...failures: readonly FlywheelError[]): FakeService {
  const service = fakeService();
  const left = [...failures];
  service.answer('burn', () => {
    const failure = left.shift();
    if (failure !== undefined) throw failure;
    return exampleReply('burn');
  });
  return service;
}
const lost = () => new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');

describe('burn', () => {
  it('sends the request under a key of the journal and prints the response as it is', async () => {
    const cli = testCli();
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--persist-onchain');
    expect([exit, stderr, JSON.parse(stdout)]).toEqual([0, '', RESULT]);
    expect(cli.service.calls).toMatchObject([
      {
        input: { type: 'WATCH_AD', proof: { a: 1 }, burnAmount: 12.5, persistOnchain: true },
        call: { idempotencyKey: '00000000-0000-4000-8000-000000000001' },
      },
    ]);
    expect(await cli.pending()).toEqual([]);
  });

  it.each([
    [true, 'flywheel local fund --to burn-wallet'],
    [false, 'flywheel vault'],
  ])('says where tokens come from that are missing (on this machine: %s)', async (isOnThisMachine, hint) => {
    const service = failing(new FlywheelError('ERR_BURN_TOKENOMICS_FAILED', MISSING, { status: 400 }));
    const { exit, stderr } = await testCli({ service, opened: { isOnThisMachine } }).run(...WORDS, '--yes');
    expect([exit, complaint(stderr).hint]).toEqual([5, expect.stringContaining(hint)]);
  });

  it('says what is left only where that is known without a network', async () => {
    const change = (after: string) => ({ before: '1250', after });
    const foresight = {
      burns: async (requests: readonly unknown[]) => {
        expect(requests).toEqual([]);
        const seen = { burnWallet: change('1237.5'), supply: change('999987.5'), usedToday: change('12.5') };
        return { failures: [], ...seen };
      },
      batch: async () => refuse('ERR_INTERNAL', 'Nobody asked for a batch.'),
    };
    for (const isOnThisMachine of [true, false]) {
      const opened = { foresight, isOnThisMachine, symbol: 'FLY' };
      const { stdout } = await testCli({ ...READER, opened }).run(...WORDS, '--yes');
      expect(stdout.includes('1,237.5 FLY')).toBe(isOnThisMachine);
    }
  });

  it('burns once under a key that was given, and a UUID is one key in any case', async () => {
    const cli = testCli();
    const key = 'ABCDEF00-0000-4000-8000-000000000000';
    const first = await cli.run(...WORDS, '--idempotency-key', key);
    const second = await cli.run(...WORDS, '--idempotency-key', key.toLowerCase());
    expect([second.exit, second.stdout]).toEqual([0, first.stdout]);
    expect(JSON.parse(second.stderr).notice).toContain('2026-01-31T12:00:00.000Z');
    expect(keys(cli)).toEqual([key.toLowerCase()]);
    const other = await refusal(cli, ...WORDS, '--persist-onchain', '--idempotency-key', key);
    expect(other.slice(0, 2)).toEqual([5, 'ERR_IDEMPOTENCY_KEY_REUSED']);
    await cli.run(...WORDS, '--idempotency-key', 'Order-1');
    expect(keys(cli)).toEqual([key.toLowerCase(), 'Order-1']);
  });

  it('is a new burn each time, unless --once says otherwise', async () => {
    const cli = testCli();
    for (const more of [[], [], ['--once'], ['--once']])
      expect((await cli.run(...WORDS, ...more)).exit).toBe(0);
    expect(new Set(keys(cli)).size).toBe(3);
    expect((await cli.run(...WORDS, '--once', '--again')).exit).toBe(0);
    expect(new Set(keys(cli)).size).toBe(4);
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
      sleep: async (ms: number) => void naps.push(ms),
      openService: async (settings: Settings) => {
        const opened = await openService(settings);
        return { ...opened, journal: async () => busyAtFirst(await opened.journal()) };
      },
    });
    const { exit, stderr } = await cli.run(...WORDS);
    expect([exit, cli.service.calls.length]).toEqual([0, 1]);
    expect(stderr.match(/4711/g)).toHaveLength(1);
    expect([naps.length, naps.every((ms) => ms >= 100)]).toEqual([2, true]);
  });

  it('tells the id of the request, if there is one, with --verbose only', async () => {
    const cli = testCli();
    cli.service.answer('burn', () => ({
      ...exampleReply('burn'),
      meta: { replayed: false, requestId: 'r-7' },
    }));
    expect((await cli.run(...WORDS, '--verbose')).stderr).toContain('r-7');
    expect((await cli.run(...WORDS)).stderr).not.toContain('r-7');
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
    const cli = testCli({ service: failing(new FlywheelError(code, 'It failed.', { requestId: 'req-1' })) });
    const { exit, stdout, stderr } = await cli.run(...WORDS);
    expect([exit, stdout, complaint(stderr)]).toMatchObject([
      ...[
        exitCode,
        '',
        { error: code, message: 'It failed.', requestId: 'req-1', idempotencyKey: keys(cli)[0] },
      ],
    ]);
    expect(await cli.pending()).toEqual(left);
  });

  it.each([
    ...['ERR_UNAUTHORIZED', 'ERR_KEY_SCOPES_UNAUTHORIZED', 'ERR_NOT_FOUND', 'ERR_PAYLOAD_TOO_LARGE'],
    ...['ERR_RATE_LIMIT_EXCEEDED', 'ERR_INVALID_REQUEST', 'ERR_DAILY_LIMIT_EXCEEDED'],
  ])('burns once when an answer is lost, the second try gets %s and the third goes well', async (code) => {
    const cli = testCli({ service: failing(lost(), new FlywheelError(code as ErrorCode, 'Not now.')) });
    expect((await cli.run(...WORDS)).exit).toBe(7);
    const [exit, error, message] = await refusal(cli, ...WORDS);
    expect([exit, error, message]).toEqual([7, 'ERR_OUTCOME_UNKNOWN', expect.stringContaining('Not now.')]);
    expect(await cli.pending()).toEqual(['burn open']);
    expect((await cli.run(...WORDS)).exit).toBe(0);
    expect(new Set(keys(cli)).size).toBe(1);
    expect(await cli.pending()).toEqual([]);
  });

  it('gives up the key when the burn itself has failed, or the service says that it was never used', async () => {
    const failed = new FlywheelError('ERR_BURN_TOKENOMICS_FAILED', 'Not enough tokens.');
    const unused = new FlywheelError('ERR_DAILY_LIMIT_EXCEEDED', 'Too much.', { keyUnused: true });
    const cli = testCli({ service: failing(lost(), failed, lost(), unused) });
    const exits: number[] = [];
    for (let run = 0; run < 4; run += 1) exits.push((await cli.run(...WORDS)).exit);
    expect([exits, new Set(keys(cli)).size, await cli.pending()]).toEqual([[7, 5, 7, 5], 2, []]);
  });

  it('prints the command that resumes when the outcome is unknown, also where a file broke off', async () => {
    const broken = new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.');
    for (const failure of [lost(), broken]) {
      const cli = testCli({ service: failing(failure) });
      const { exit, stderr } = await cli.run(...WORDS);
      const { error, message, hint = '' } = complaint(stderr);
      expect([exit, error, message]).toEqual([
        7,
        'ERR_OUTCOME_UNKNOWN',
        expect.stringContaining(failure.message),
      ]);
      const line = /flywheel (pending resume [0-9a-f]{8})$/.exec(hint)?.[1] ?? '';
      const resumed = await cli.run(...line.split(' '));
      expect([resumed.exit, JSON.parse(resumed.stdout)]).toEqual([0, RESULT]);
      expect([new Set(keys(cli)).size, await cli.pending()]).toEqual([1, []]);
    }
  });

  it('prints a result again, and burns nothing, when it could not be written', async () => {
    const broken = testCli({ unwritable: 'the disk is full' });
    const first = await broken.run(...WORDS);
    const { error, message } = complaint(first.stderr);
    expect([first.exit, error, message]).toEqual([
      ...[1, 'ERR_OUTPUT_FAILED', expect.stringContaining(RESULT.txHash)],
    ]);
    expect(await broken.pending()).toEqual(['burn done']);
    const mended = testCli({ home: broken.home });
    const second = await mended.run(...WORDS);
    expect([second.exit, JSON.parse(second.stdout), mended.service.calls]).toEqual([0, RESULT, []]);
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
    expect((await refusal(cli, ...WORDS)).slice(0, 2)).toEqual([130, 'ERR_INTERRUPTED']);
    expect(await cli.pending()).toEqual(['burn open']);
  });

  it.each([
    ...['0', '-1', 'NaN', '1e9', 'Infinity', '1,000', '', ' 1', '1.', '.5', '0x10'].map((value) => [
      ...['--amount', value, '--amount'],
    ]),
    ['--amount', '0.1000000000000000055511151231257827', 'JSON number'],
    ['--proof', '[]', 'object'],
    ['--proof', '{"a":1,"a":2}', '"a"'],
    ['--proof', '{"a":', 'ends'],
    ['--proof', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, '64'],
    ['--proof', '@missing.json', 'missing.json'],
    ['--proof', '@.', 'directory'],
    ['--proof', JSON.stringify({ a: 'x'.repeat(1_048_576) }), '65536'],
    ['--type', '', '--type'],
    ['--type', 'T'.repeat(65), '--type'],
  ] as [string, string, string][])('refuses %s %.40s and sends nothing', async (flag, value, names) => {
    const cli = testCli();
    const words = [...WORDS];
    words[words.indexOf(flag) + 1] = value;
    expect(await refusal(cli, ...words)).toEqual([2, 'ERR_INPUT_INVALID', expect.stringContaining(names)]);
    expect([cli.service.calls, await cli.pending()]).toEqual([[], []]);
  });

  it.each([
    [{ explorer: 'mainnet' }, 'mainnet'],
    [{ explorer: null }, 'cluster of your own'],
    [{ kind: 'remote' }, 'through '],
  ] as const)('asks a person before it burns what has worth, %o', async (place, where) => {
    const pins = { mint: 'Mint', facts: {} } as never;
    const opened = { pins, isOnThisMachine: false, ...place };
    const declined = testCli({ opened, ...person('n') });
    const { exit, questions } = await declined.run(...WORDS);
    expect([exit, declined.service.calls]).toEqual([130, []]);
    for (const fact of ['12.5', 'WATCH_AD', 'Mint', where]) expect(questions.join()).toContain(fact);
    const accepted = testCli({ opened, ...person('y') });
    expect([(await accepted.run(...WORDS)).exit, accepted.service.calls.length]).toEqual([0, 1]);
    const sandbox = testCli({ opened: { pins }, ...person() });
    expect((await sandbox.run(...WORDS)).questions).toEqual([]);
  });

  it('takes base units of a mint whose decimals are known, digit by digit, and no finer amount than it has', async () => {
    const pins = { mint: 'Mint', facts: { 'mint.decimals': '6' } } as never;
    const words = ['burn', '--type', 'T', '--proof', '{}', '--amount'];
    const cli = testCli({ opened: { pins } });
    expect((await cli.run(...words, '12500001', '--base-units')).exit).toBe(0);
    expect(cli.service.calls[0]?.input).toMatchObject({ burnAmount: 12.500001 });
    // Beyond what a JSON number keeps it is refused, never rounded.
    for (const amount of ['12.5', '1e6', '0', '-1', '18446744073709551616', '18446744073709551615'])
      expect([amount, (await cli.run(...words, amount, '--base-units')).exit]).toEqual([amount, 2]);
    expect((await refusal(cli, ...words, '1.0000001'))[2]).toContain('1.0000001');
    const unknown = testCli();
    expect((await refusal(unknown, ...words, '1', '--base-units'))[0]).toBe(2);
    expect([cli.service.calls.length, unknown.service.calls.length]).toEqual([1, 0]);
  });

  it('reads a proof from a file with a byte order mark and CRLF, and refuses what is no text', async () => {
    const cli = testCli();
    writeFileSync(join(cli.home, 'proof.json'), '\ufeff{\r\n"a":1\r\n}\r\n');
    const words = ['burn', '--type', 'T', '--amount', '1', '--proof'];
    expect((await cli.run(...words, '@proof.json')).exit).toBe(0);
    expect(cli.service.calls[0]?.input).toMatchObject({ proof: { a: 1 } });
    for (const stdin of [Uint8Array.of(0x7b, 0xff, 0x7d), ' \n'])
      expect((await refusal(testCli({ stdin }), ...words, '-'))[1]).toBe('ERR_INPUT_INVALID');
  });

  it('strips control characters from what the service says', async () => {
    const strange = () => failing(new FlywheelError('ERR_INVALID_PROOF', 'bad\u001b[2J\u0007 proof\u202e'));
    const human = await testCli({ service: strange(), tty: { stdout: true } }).run(...WORDS);
    expect(human.stderr).toContain('bad[2J proof');
    const json = await testCli({ service: strange() }).run(...WORDS);
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

  it('says what it would come to, as far as somebody knows, and sends nothing', async () => {
    for (const [opened, foreseen] of [
      [{}, null],
      [ahead(), changes],
    ] as const) {
      const cli = testCli({ opened });
      const { exit, stdout, stderr } = await cli.run(...WORDS, '--dry-run');
      const hash = proofHash({ a: 1 });
      expect([exit, stderr, JSON.parse(stdout)]).toEqual([
        ...[0, '', { dryRun: true, type: 'WATCH_AD', hash, amount: 12.5, foreseen }],
      ]);
      expect([cli.service.calls, await cli.pending()]).toEqual([[], []]);
    }
  });

  it('is refused with what the burn would be refused with', async () => {
    const failure = { index: 0, type: 'ERR_INVALID_PROOF', message: 'The type is not known.' };
    const answer = await refusal(testCli({ opened: ahead(failure) }), ...WORDS, '--dry-run');
    expect(answer).toEqual([5, 'ERR_INVALID_PROOF', 'The type is not known.']);
  });
});

describe('a burn that is said to have failed', () => {
  const PROOF = { a: 1 };
  const landed: PastTransaction = {
    signature: 'sig-1' as PastTransaction['signature'],
    memo: `[99] ${proofMemoText('WATCH_AD', proofHash(PROOF))}`,
    blockTimeMs: NOW_MS,
  };
  /** A command line whose service says that burns failed, beside a chain of the user's own with these memos. */
  function liedTo(...memos: readonly PastTransaction[]): TestCli {
    const service = failing(new FlywheelError('ERR_BURN_TOKENOMICS_FAILED', 'Not enough.', { status: 400 }));
    const error = { message: 'Not enough.', type: 'ERR_BURN_TOKENOMICS_FAILED', proof: PROOF };
    service.answer('burnBatch', () => reply({ success: [], errors: [{ ...error, proofType: 'WATCH_AD' }] }));
    const pastOf = async (_account: string, sinceMs: number) =>
      memos.filter(({ blockTimeMs }) => (blockTimeMs ?? sinceMs) >= sinceMs);
    const pins = { mint: namedAddress('mint') } as never;
    return testCli({ service, opened: { kind: 'remote', history: { pastOf }, pins } });
  }

  it('is unknown, and stays pending, when its proof is on chain', async () => {
    const cli = liedTo(landed);
    expect(await refusal(cli, ...WORDS, '--persist-onchain')).toEqual([
      ...[7, 'ERR_OUTCOME_UNKNOWN', expect.stringContaining('sig-1')],
    ]);
    expect(await cli.pending()).toEqual(['burn open']);
    const batch = liedTo(landed);
    const burns = [{ type: 'WATCH_AD', proof: PROOF, burnAmount: 1, persistOnchain: true }];
    writeFileSync(join(batch.home, 'burns.json'), JSON.stringify(burns));
    expect((await refusal(batch, 'burn-batch', 'burns.json')).slice(0, 2)).toEqual([
      7,
      'ERR_OUTCOME_UNKNOWN',
    ]);
    expect(await batch.pending()).toEqual(['burn-batch open']);
  });

  it('has failed when nothing of it is on chain, or only what is older', async () => {
    const older = { ...landed, blockTimeMs: NOW_MS - 3_600_000 };
    const other = { ...landed, memo: proofMemoText('WATCH_AD', proofHash({ a: 2 })) };
    const cli = liedTo(older, other);
    expect((await cli.run(...WORDS, '--persist-onchain')).exit).toBe(5);
    expect(await cli.pending()).toEqual([]);
    expect((await liedTo(landed).run(...WORDS)).exit).toBe(5);
  });
});

describe('burn list', () => {
  const [example] = (EXAMPLES.listBurns.response as BurnPage).items as [BurnState];
  const failed: BurnState = {
    ...{ hash: example.hash, txHash: example.txHash, type: '=CMD()', amount: '3', persistOnchain: false },
    ...{ status: 'FAILED', dateCreated: example.dateCreated },
    error: { type: 'ERR_BURN_TOKENOMICS_FAILED', message: 'It said "no",\nand left.' },
  };
  /** A service with these burns, behind a page without any. */
  function holding(...burns: readonly BurnState[]): TestCli {
    const service = fakeService();
    service.answer('listBurns', ({ input }) =>
      (input as ListBurnsQuery).cursor === undefined
        ? reply({ items: [], nextCursor: 'next' })
        : reply({ items: burns, nextCursor: null }),
    );
    return testCli({ service });
  }

  it('hands on what is asked for, and asks on after a page without items', async () => {
    const cli = holding(example);
    const words = ['--type', 'PRODUCT_BUY', '--status', 'SUCCESS', '--since', '2026-01-01', '--limit', '7'];
    const { exit, stdout } = await cli.run('burn', 'list', ...words, '--tx', 'abc', '--proof-hash', 'AB');
    expect([exit, JSON.parse(stdout)]).toEqual([0, [example]]);
    const asked = {
      ...{ type: 'PRODUCT_BUY', status: 'SUCCESS', since: '2026-01-01T00:00:00.000Z', limit: 7 },
      ...{ txHash: 'abc', proofHash: 'ab' },
    };
    expect(cli.service.calls.map(({ input }) => input)).toEqual([asked, { ...asked, cursor: 'next' }]);
  });

  it('prints CSV that a spreadsheet takes for text', async () => {
    const { stdout } = await holding(example, failed).run('burn', 'list', '--output', 'csv');
    expect(stdout.split('\n')).toEqual([
      'date,type,amount,status,proof hash,transaction,on chain,fee lamports,asked for,error,message',
      `${example.dateBurned},${example.type},12.5,SUCCESS,${example.hash},${example.txHash},true,,${example.dateCreated},,`,
      `,'=CMD(),3,FAILED,${failed.hash},${failed.txHash},false,,${failed.dateCreated},ERR_BURN_TOKENOMICS_FAILED,"It said ""no"", and left."`,
      '',
    ]);
    const types = [' =CMD()', '\t=CMD()', '＝CMD()', '＠SUM(1)', '-2+3'];
    const strange = await holding(...types.map((type) => ({ ...example, type }))).run(
      ...['burn', 'list', '--output', 'csv'],
    );
    const cells = strange.stdout.trim().split('\n').slice(1);
    expect(cells.map((line) => line.split(',')[1])).toEqual(
      types.map((type) => `'${type.replace('\t', ' ')}`),
    );
  });
});
