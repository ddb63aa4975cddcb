/** `flywheel burn`: the request, the output, the idempotency key, and the prompts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChainReader, PastTransaction } from '../../../../src/chain/chain.js';
import { proofMemoText } from '../../../../src/chain/small-programs.js';
import type { ErrorCode } from '../../../../src/errors/codes.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../../src/values/digest.js';
import { exampleReply, type FakeService, fakeService } from '../../../support/fake-service.js';
import { NOW_MS, type TestCli, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';
import { EXAMPLES } from '../../../support/wire-examples.js';
import { complaint, person, refusal, reply } from '../single-command.js';

const WORDS = ['burn', '--type', 'WATCH_AD', '--proof', '{"a":1}', '--amount', '12.5'];
const RESULT = EXAMPLES.burn.response as { txHash: string };

const keys = ({ service }: TestCli) => service.calls.flatMap(({ call }) => call.idempotencyKey ?? []);
/** A service whose first burns fail in turn; later ones succeed. */
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

  it('is a new burn each time, unless --once says otherwise', async () => {
    const cli = testCli();
    for (const more of [[], [], ['--once'], ['--once'], ['--once', '--again']])
      expect((await cli.run(...WORDS, ...more)).exit).toBe(0);
    expect(new Set(keys(cli)).size).toBe(4);
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
    const told = { error: code, message: 'It failed.', requestId: 'req-1', idempotencyKey: keys(cli)[0] };
    expect([exit, stdout, complaint(stderr)]).toMatchObject([exitCode, '', told]);
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

  it.each([
    ...['0', '-1', '1e9', '1,000', '', ' 1', '1.'].map((value) => ['--amount', value, '--amount']),
    ['--amount', '0.1000000000000000055511151231257827', 'JSON number'],
    ['--proof', '[]', 'object'],
    ['--proof', '{"a":1,"a":2}', '"a"'],
    ['--proof', '{"a":', 'ends'],
    ['--proof', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, '64'],
    ['--proof', '@missing.json', 'missing.json'],
    ['--proof', '@.', 'directory'],
    ['--proof', JSON.stringify({ a: 'x'.repeat(1_048_576) }), '65,536'],
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
    [{ explorer: null }, 'your own cluster'],
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
    // An amount beyond the precision of a JSON number is refused, never rounded.
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
});

describe('a burn that is said to have failed', () => {
  const PROOF = { a: 1 };
  const landed: PastTransaction = {
    signature: 'sig-1' as PastTransaction['signature'],
    ...{ slot: 1, failed: false, isAgreed: true },
    memo: `[99] ${proofMemoText('WATCH_AD', proofHash(PROOF))}`,
    blockTimeMs: NOW_MS,
  };
  /** A service that reports failed burns, and a chain of the user's own with these memos. */
  function liedTo(...memos: readonly PastTransaction[]): TestCli {
    const service = failing(new FlywheelError('ERR_BURN_TOKENOMICS_FAILED', 'Not enough.', { status: 400 }));
    const error = { message: 'Not enough.', type: 'ERR_BURN_TOKENOMICS_FAILED', proof: PROOF };
    service.answer('burnBatch', () => reply({ success: [], errors: [{ ...error, proofType: 'WATCH_AD' }] }));
    const history: ChainReader['history'] = async (_account, { sinceMs = 0 }) =>
      memos.filter(({ blockTimeMs }) => (blockTimeMs ?? sinceMs) >= sinceMs);
    const lookUp: ChainReader['lookUp'] = async (signatures) => signatures.map(() => null);
    const pins = { mint: namedAddress('mint') } as never;
    return testCli({ service, opened: { kind: 'remote', chain: { history, lookUp } as ChainReader, pins } });
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
    const told = await refusal(batch, 'burn-batch', 'burns.json');
    expect(told.slice(0, 2)).toEqual([7, 'ERR_OUTCOME_UNKNOWN']);
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
