/** `flywheel burn-batch`: checking a whole file, splitting it, and gathering the outcomes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cutBurns } from '../../../../src/cli/burn-batch/cut.js';
import type { Journal } from '../../../../src/cli/journal/journal.js';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../../src/values/digest.js';
import { derivedUuid } from '../../../../src/values/ids.js';
import { complaint, READER, refusal, refuse } from '../../../support/commands.js';
import { replacing } from '../../../support/doubles.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../support/in-process.js';

const burn = (index: number, more: Record<string, unknown> = {}) => ({
  type: 'WATCH_AD',
  proof: { index },
  burnAmount: 1.5,
  persistOnchain: false,
  ...more,
});

/** The last line of standard error. */
const last = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '');

/** Tells the transaction of an element from those of equal ones before it. */
const twins = (burns: readonly BurnRequest[], at: number): string =>
  '*'.repeat(
    burns.slice(0, at).filter(({ proof }) => proofHash(proof) === proofHash(burns[at]?.proof ?? {})).length,
  );

/** A service that fails the elements whose proof says so. */
function answeringService() {
  const service = fakeService();
  service.answer('burnBatch', ({ input }) => {
    const burns = input as readonly BurnRequest[];
    const failed = burns.filter(({ proof }) => 'fail' in proof);
    const done = burns.filter(({ proof }) => !('fail' in proof));
    return {
      meta: { replayed: false },
      value: {
        success: done.map(({ proof, type }, at) => ({
          result: 'SUCCESS',
          hash: proofHash(proof),
          txHash: `tx${JSON.stringify(proof)}${twins(done, at)}`,
          type,
          dateBurned: '2026-01-31T12:00:00.000Z',
        })),
        errors: failed.map(({ proof, type }) => ({
          message: 'not this one',
          type: 'ERR_INVALID_PROOF',
          proof,
          proofType: type,
        })),
      },
    };
  });
  return service;
}

function cliWith(file: string, text: string | Uint8Array, options: TestCliOptions = {}): TestCli {
  const cli = testCli({ service: answeringService(), ...options });
  writeFileSync(join(cli.home, file), text);
  return cli;
}

/** A journal in which another process is always faster at taking an operation up again. */
const overtaken = (journal: Journal): Journal =>
  replacing(journal, {
    begin: (request) => {
      const begun = journal.begin(request);
      return begun.status === 'taken'
        ? { ...begun, entry: replacing(begun.entry, { reopen: () => false }) }
        : begun;
    },
  });

describe('burn-batch', () => {
  it('sends the array and prints success and errors in order, exit 3 when some failed', async () => {
    const burns = [burn(0), burn(1, { proof: { fail: true } }), burn(2)];
    const cli = cliWith('burns.json', JSON.stringify(burns));
    const { exit, stdout, stderr } = await cli.run('burn-batch', 'burns.json', '--failed-out', 'failed.json');
    expect(exit).toBe(3);
    const value = JSON.parse(stdout);
    expect(value.success.map((one: { txHash: string }) => one.txHash)).toEqual([
      'tx{"index":0}',
      'tx{"index":2}',
    ]);
    expect(value.errors).toEqual([
      { message: 'not this one', type: 'ERR_INVALID_PROOF', proof: { fail: true }, proofType: 'WATCH_AD' },
    ]);
    expect(JSON.parse(stderr)).toMatchObject({
      error: 'ERR_PARTIAL',
      message: '1 of 3 elements failed.',
      idempotencyKey: cli.service.calls[0]?.call.idempotencyKey,
    });
    expect(JSON.parse(readFileSync(join(cli.home, 'failed.json'), 'utf8'))).toEqual([burns[1]]);
    expect(await cli.pending()).toEqual([]);
  });

  it('prints one line an element with its index in ndjson', async () => {
    const text = [burn(0), burn(1, { proof: { fail: true } })].map((one) => JSON.stringify(one)).join('\r\n');
    const cli = cliWith('burns.ndjson', `\ufeff${text}\r\n\r\n`);
    const { stdout } = await cli.run(
      'burn-batch',
      'burns.ndjson',
      '--output',
      'ndjson',
      '--failed-out',
      'f.ndjson',
    );
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ index, status }) => [index, status])).toEqual([
      [0, 'success'],
      [1, 'error'],
    ]);
    expect(readFileSync(join(cli.home, 'f.ndjson'), 'utf8')).toBe(
      `${JSON.stringify(burn(1, { proof: { fail: true } }))}\n`,
    );
  });

  it('splits a long file into requests with derived keys and global indexes', async () => {
    const burns = Array.from({ length: 2_500 }, (_, index) =>
      burn(index, index === 1_700 ? { proof: { fail: index } } : {}),
    );
    const cli = cliWith('burns.json', JSON.stringify(burns));
    const { exit, stdout } = await cli.run('burn-batch', 'burns.json', '--output', 'ndjson');
    expect(exit).toBe(3);
    expect(cli.service.calls.map(({ input }) => (input as unknown[]).length)).toEqual([1_000, 1_000, 500]);
    const keys = cli.service.calls.map(({ call }) => call.idempotencyKey);
    const [key = ''] = keys;
    expect(keys).toEqual([key, derivedUuid(key, '1'), derivedUuid(key, '2')]);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ index }) => index)).toEqual(burns.map((_, index) => index));
    expect(lines.filter(({ status }) => status === 'error').map(({ index }) => index)).toEqual([1_700]);
  });

  it('goes on where it stopped when a later request fails, with what was answered before', async () => {
    const service = answeringService();
    const burns = Array.from({ length: 1_001 }, (_, index) => burn(index));
    const cli = cliWith('burns.json', JSON.stringify(burns), { service });
    const inner = service.service.burnBatch;
    service.service.burnBatch = (input, call) => {
      if (input.length > 1) return inner(input, call);
      throw new FlywheelError('ERR_UNAUTHORIZED', 'The key was revoked.');
    };
    const { exit, stdout, stderr } = await cli.run('burn-batch', 'burns.json');
    expect([exit, stdout]).toEqual([4, '']);
    expect(last(stderr).hint).toMatch(/^This resumes safely: flywheel pending resume [0-9a-f]{8}$/);
    expect(await cli.pending()).toEqual(['burn-batch open']);
    service.service.burnBatch = inner;
    const again = await cli.run('burn-batch', 'burns.json');
    expect(again.exit).toBe(0);
    expect(JSON.parse(again.stdout).success).toHaveLength(1_001);
    expect(service.calls.map(({ input }) => (input as unknown[]).length)).toEqual([1_000, 1]);
    expect(await cli.pending()).toEqual([]);
  });

  it.each([
    ['a later request', 1_001, []],
    ['the rest', 2, ['--rest']],
  ])(
    'tells a refusal of %s as that, until a try of it may have been carried out',
    async (_what, count, more) => {
      const service = answeringService();
      const burns = Array.from({ length: count }, (_, index) => burn(index));
      const cli = cliWith('burns.json', JSON.stringify(burns), { service });
      const inner = service.service.burnBatch;
      const refusal = new FlywheelError('ERR_DAILY_LIMIT_EXCEEDED', 'The cap would be passed.');
      const lost = new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
      let failure: FlywheelError | null = refusal;
      service.service.burnBatch = (input, call) => {
        if (input.length === 2) return inner([burn(0), burn(1, { proof: { fail: true } })], call);
        if (input.length > 2 || failure === null) return inner(input, call);
        throw failure;
      };
      if (more.length > 0) expect((await cli.run('burn-batch', 'burns.json')).exit).toBe(3);
      const ends = async (next: FlywheelError | null) => {
        failure = next;
        const { exit, stderr } = await cli.run('burn-batch', 'burns.json', ...more);
        return [exit, last(stderr).error, last(stderr).hint];
      };
      const resumes = expect.stringMatching(/^This resumes safely: flywheel pending resume [0-9a-f]{8}$/);
      const refused = [5, 'ERR_DAILY_LIMIT_EXCEEDED', resumes];
      const unknown = [7, 'ERR_OUTCOME_UNKNOWN', resumes];
      expect([await ends(refusal), await ends(refusal)]).toEqual([refused, refused]);
      expect([await ends(lost), await ends(refusal)]).toEqual([unknown, unknown]);
      expect((await ends(null))[0]).toBe(0);
      expect(await cli.pending()).toEqual([]);
    },
  );

  it('keeps what has landed when the service has never seen the next request', async () => {
    const service = answeringService();
    const burns = Array.from({ length: 1_001 }, (_, index) => burn(index));
    const cli = cliWith('burns.json', JSON.stringify(burns), { service });
    const inner = service.service.burnBatch;
    let failure: FlywheelError = new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    service.service.burnBatch = (input, call) => {
      if (input.length > 2) return inner(input, call);
      throw failure;
    };
    expect((await cli.run('burn-batch', 'burns.json')).exit).toBe(7);
    failure = new FlywheelError('ERR_TOKEN_NOT_FOUND', 'Not this one.', { keyUnused: true });
    for (let time = 0; time < 2; time += 1) {
      const { exit, stderr } = await cli.run('burn-batch', 'burns.json');
      expect([exit, last(stderr).error]).toEqual([5, 'ERR_TOKEN_NOT_FOUND']);
      expect(last(stderr).hint).toMatch(/^This resumes safely: /);
    }
    writeFileSync(join(cli.home, 'changed.json'), JSON.stringify([burn(0), burn(2_000)]));
    const changed = await cli.run('burn-batch', 'changed.json');
    expect([changed.exit, last(changed.stderr).message]).toEqual([
      2,
      '1 of 2 burns are part of an operation that is not over. Nothing was sent.',
    ]);
    expect(service.calls).toHaveLength(1);
  });

  it('burns a file once, and prints the same again', async () => {
    const cli = cliWith('burns.json', JSON.stringify([burn(0), burn(1)]));
    const first = await cli.run('burn-batch', 'burns.json');
    writeFileSync(
      join(cli.home, 'other.ndjson'),
      [burn(0), burn(1)].map((one) => JSON.stringify(one)).join('\n'),
    );
    const second = await cli.run('burn-batch', 'other.ndjson');
    expect([second.exit, second.stdout]).toEqual([first.exit, first.stdout]);
    expect(JSON.parse(second.stderr).notice).toContain('Done before, on 2026-01-31T12:00:00.000Z');
    expect(cli.service.calls).toHaveLength(1);
    const third = await cli.run('burn-batch', 'burns.json', '--again');
    expect([third.exit, cli.service.calls.length]).toEqual([0, 2]);
    expect(cli.service.calls[1]?.call.idempotencyKey).not.toBe(cli.service.calls[0]?.call.idempotencyKey);
  });

  it('never repeats the whole of what was done in part: --rest sends what did not land', async () => {
    const service = fakeService();
    let broken = true;
    const answering = answeringService();
    service.answer('burnBatch', async ({ input, call }) => {
      const burns = (input as readonly BurnRequest[]).map((one, index) =>
        broken && index === 1 ? { ...one, proof: { fail: one.proof } } : one,
      );
      const { value } = await answering.service.burnBatch(burns, call);
      const errors = value.errors.map((error) => ({
        ...error,
        proof: (error.proof as { fail: never }).fail,
      }));
      return { value: { ...value, errors }, meta: { replayed: false } };
    });
    const cli = cliWith('burns.json', JSON.stringify([burn(0), burn(1), burn(2)]), { service });
    const sent = () =>
      service.calls.map(({ input }) => (input as BurnRequest[]).map(({ proof }) => proof['index']));
    expect((await cli.run('burn-batch', 'burns.json')).exit).toBe(3);
    expect((await cli.run('burn-batch', 'burns.json')).exit).toBe(3);
    const refused = await cli.run('burn-batch', 'burns.json', '--again');
    expect([refused.exit, last(refused.stderr).message]).toEqual([
      2,
      expect.stringContaining('was done in part'),
    ]);
    broken = false;
    const rest = await cli.run('burn-batch', 'burns.json', '--rest');
    expect(rest.stderr).toContain('Doing the rest of what was begun');
    expect(rest.stderr).not.toContain('nothing is done now');
    expect([rest.exit, JSON.parse(rest.stdout).success.length]).toEqual([0, 1]);
    expect(sent()).toEqual([[0, 1, 2], [1]]);
    const whole = await cli.run('burn-batch', 'burns.json');
    expect([
      whole.exit,
      JSON.parse(whole.stdout).success.map((one: { txHash: string }) => one.txHash),
    ]).toEqual([0, ['tx{"index":0}', 'tx{"index":1}', 'tx{"index":2}']]);
    const none = await cli.run('burn-batch', 'burns.json', '--rest');
    expect([none.exit, sent().length]).toEqual([0, 2]);
  });

  it('sends no rest that another process has taken up at the same time', async () => {
    const first = cliWith('burns.json', JSON.stringify([burn(0), burn(1, { proof: { fail: true } })]));
    expect((await first.run('burn-batch', 'burns.json')).exit).toBe(3);
    const { openService } = first.context;
    const slower = testCli({
      home: first.home,
      service: first.service,
      openers: {
        openService: async (settings) => {
          const opened = await openService(settings);
          return { ...opened, journal: async () => overtaken(await opened.journal()) };
        },
      },
    });
    const { exit, stdout, stderr } = await slower.run('burn-batch', 'burns.json', '--rest');
    expect([exit, stdout, last(stderr)]).toEqual([
      expect.any(Number),
      '',
      expect.objectContaining({
        error: 'ERR_TIMEOUT',
        message: 'Another process has just taken up the rest.',
        hint: expect.stringContaining('Run the command again.'),
      }),
    ]);
    expect(first.service.calls).toHaveLength(1);
  });

  it('says of a changed file what has landed before, and sends it only when told how', async () => {
    const cli = cliWith('a.json', JSON.stringify([burn(0), burn(1)]));
    expect((await cli.run('burn-batch', 'a.json')).exit).toBe(0);
    writeFileSync(join(cli.home, 'b.json'), JSON.stringify([burn(0), burn(1), burn(2), burn(1)]));
    const refused = await cli.run('burn-batch', 'b.json');
    expect([refused.exit, last(refused.stderr).message]).toEqual([
      2,
      '2 of 4 burns have landed before, on 2026-01-31. Nothing was sent.',
    ]);
    expect(await cli.pending()).toEqual([]);
    const onlyNew = await cli.run('burn-batch', 'b.json', '--only-new', '--output', 'ndjson');
    expect(onlyNew.exit).toBe(0);
    expect(
      onlyNew.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).index),
    ).toEqual([2, 3]);
    const again = await cli.run('burn-batch', 'b.json');
    expect([again.exit, JSON.parse(again.stdout).success.length, cli.service.calls.length]).toEqual([
      0, 2, 2,
    ]);
  });

  it('asks on a terminal about what has landed before; no is the answer of silence', async () => {
    const tty = { stdin: true, stderr: true, stdout: true };
    const cli = cliWith('a.json', JSON.stringify([burn(0)]), { tty, answers: ['', 'y'] });
    writeFileSync(join(cli.home, 'b.json'), JSON.stringify([burn(0), burn(1)]));
    await cli.run('burn-batch', 'a.json');
    const declined = await cli.run('burn-batch', 'b.json');
    expect([declined.exit, declined.questions]).toEqual([
      130,
      ['Leave them out and go on with the other 1? [y/N] '],
    ]);
    const agreed = await cli.run('burn-batch', 'b.json');
    expect([agreed.exit, cli.service.calls.length]).toEqual([0, 2]);
    expect(cli.service.calls[1]?.input).toEqual([burn(1)]);
  });

  it('lets no other file take elements of which nobody knows whether they have landed', async () => {
    const service = answeringService();
    const cli = cliWith('a.json', JSON.stringify([burn(0)]), { service });
    const inner = service.service.burnBatch;
    service.service.burnBatch = () => {
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    };
    expect((await cli.run('burn-batch', 'a.json')).exit).toBe(7);
    service.service.burnBatch = inner;
    writeFileSync(join(cli.home, 'b.json'), JSON.stringify([burn(0), burn(1)]));
    for (const how of [[], ['--again']]) {
      const { exit, stderr } = await cli.run('burn-batch', 'b.json', ...how);
      expect(exit).toBe(2);
      expect(last(stderr).hint).toMatch(/: flywheel pending resume [0-9a-f]{8}$/);
    }
    expect((await cli.run('pending', 'resume')).exit).toBe(0);
    expect((await cli.run('burn-batch', 'b.json', '--only-new')).exit).toBe(0);
    expect(service.calls.map(({ input }) => input)).toEqual([[burn(0)], [burn(1)]]);
  });

  it('says what to do where the service knows all of a file of which only the new part is sent', async () => {
    const service = answeringService();
    const cli = cliWith('a.json', JSON.stringify([burn(0)]), { service });
    await cli.run('burn-batch', 'a.json');
    service.service.burnBatch = () => {
      throw new FlywheelError('ERR_IDEMPOTENCY_KEY_REUSED', 'The key was used with another body.', {
        status: 422,
      });
    };
    writeFileSync(join(cli.home, 'b.json'), JSON.stringify([burn(0), burn(1)]));
    const refused = await cli.run('burn-batch', 'b.json', '--only-new');
    expect([refused.exit, last(refused.stderr).hint]).toEqual([
      5,
      expect.stringContaining('a file of its own'),
    ]);
    expect(await cli.pending()).toEqual([]);
  });

  it('says of a file what was left to another operation that has ended without it', async () => {
    const service = answeringService();
    const cli = cliWith('a.json', JSON.stringify([burn(0, { proof: { fail: true } })]), { service });
    const inner = service.service.burnBatch;
    service.service.burnBatch = () => {
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    };
    expect((await cli.run('burn-batch', 'a.json')).exit).toBe(7);
    service.service.burnBatch = inner;
    writeFileSync(join(cli.home, 'b.json'), JSON.stringify([burn(0, { proof: { fail: true } }), burn(1)]));
    expect((await cli.run('burn-batch', 'b.json', '--only-new')).exit).toBe(0);
    expect((await cli.run('pending', 'resume')).exit).toBe(3);
    const sent = service.calls.length;
    for (const how of [[], ['--rest'], ['--only-new']]) {
      const { exit, stderr } = await cli.run('burn-batch', 'b.json', ...how);
      expect([exit, last(stderr).message]).toEqual([
        3,
        '1 of 2 elements of this file have not landed: [0]. They were left to another operation, which has not done them.',
      ]);
    }
    expect(service.calls).toHaveLength(sent);
  });

  it('points out equal elements before anything is sent', async () => {
    const cli = cliWith('burns.json', JSON.stringify([burn(0), burn(1), burn(0), burn(0)]));
    const { stderr } = await cli.run('burn-batch', 'burns.json');
    expect(JSON.parse(stderr).warning).toBe(
      '2 of 4 elements equal one before them, [2] the one at [0]; each is burned.',
    );
  });

  it('reports every problem of a file with its index and sends nothing', async () => {
    const text = `[
      ${JSON.stringify(burn(0))},
      {"type":"WATCH_AD","proof":[],"burnAmount":-1,"persistOnchain":"yes","extra":1},
      {"type":"WATCH_AD","proof":{},"burnAmount":18446744073709551615.5,"persistOnchain":true},
      {"type":"WATCH_AD","proof":{},"burnAmount":"1.x","persistOnchain":true},
      7,
      {"type":"WATCH_AD","proof":{},"burnAmount":1,"persistOnchain":true,"__proto__":{}}
    ]`;
    const cli = cliWith('burns.json', text);
    const { exit, stderr } = await cli.run('burn-batch', 'burns.json', '--failed-out', 'failed.json');
    expect(exit).toBe(2);
    const { error, message } = JSON.parse(stderr);
    expect(error).toBe('ERR_INPUT_INVALID');
    for (const part of [
      'burns.json: ',
      '[1].proof: expected a JSON object',
      '[1].burnAmount: expected a positive number',
      '[1].persistOnchain: expected true or false',
      'unknown key "extra"',
      '[2].burnAmount: 18446744073709551615.5 is not exact as a JSON number',
      '[3].burnAmount: expected a positive decimal number, got "1.x"',
      '[4]: ',
      'unknown key "__proto__"',
    ])
      expect(message).toContain(part);
    expect(message).not.toContain('[0]');
    expect(cli.service.calls).toEqual([]);
    expect(existsSync(join(cli.home, 'failed.json'))).toBe(false);
  });

  it.each([
    ['an empty file', '', 'It is empty'],
    ['an empty array', '[]', 'expected at least one burn'],
    ['truncated JSON', '[{"type":"T"', 'Expected "," or "}"'],
    ['something else', '"text"', 'line 1'],
    ['one object over lines', '{\n"type":"T"\n}', 'expected a JSON array, or NDJSON with one object a line'],
    ['a bad line', `${JSON.stringify(burn(0))}\n{"type":\n`, 'line 2'],
    ['a duplicate key', '[{"type":"T","type":"U"}]', 'Duplicate key "type" (line 1, column 14)'],
  ])('refuses %s', async (_name, text, reason) => {
    const cli = cliWith('burns.json', text);
    const { exit, stderr } = await cli.run('burn-batch', 'burns.json');
    expect(exit).toBe(2);
    expect(JSON.parse(stderr).message).toContain(reason);
    expect(JSON.parse(stderr).message).toContain('burns.json');
    expect(cli.service.calls).toEqual([]);
  });

  it('adds up a dry run exactly and sends nothing, even without a service', async () => {
    const burns = [
      burn(0, { burnAmount: 0.1 }),
      burn(1, { burnAmount: '0.2' }),
      burn(2, { type: 'PRODUCT_BUY' }),
    ];
    const openers = { openService: () => Promise.reject(new FlywheelError('ERR_LOCAL_NOT_FOUND', 'none')) };
    const cli = cliWith('burns.json', JSON.stringify(burns), { openers });
    const { exit, stdout } = await cli.run('burn-batch', 'burns.json', '--dry-run');
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      dryRun: true,
      elements: 3,
      foreseen: null,
      requests: 1,
      totalAmount: '1.8',
      types: { WATCH_AD: { elements: 2, amount: '0.3' }, PRODUCT_BUY: { elements: 1, amount: '1.5' } },
    });
  });

  it('refuses a place for failed elements that cannot be written before anything is sent', async () => {
    const cli = cliWith('burns.json', JSON.stringify([burn(0)]));
    const { exit, stderr } = await cli.run('burn-batch', 'burns.json', '--failed-out', 'no/such/dir.json');
    expect(exit).toBe(2);
    expect(stderr).toContain('cannot be written');
    expect(cli.service.calls).toEqual([]);
  });

  it('is cut where a request would be larger than the service takes, and nowhere else', () => {
    const large = burn(0, { proof: { text: 'x'.repeat(100_000) } }) as BurnRequest;
    const bytesOf = (count: number): number => JSON.stringify(Array(count).fill(large)).length;
    const counts = cutBurns(Array(250).fill(large));
    expect([counts.length, counts.reduce((sum, count) => sum + count, 0)]).toEqual([3, 250]);
    for (const count of counts.slice(0, -1)) {
      expect(bytesOf(count)).toBeLessThanOrEqual(10 * 1_048_576);
      expect(bytesOf(count + 1)).toBeGreaterThan(10 * 1_048_576);
    }
    expect(cutBurns(Array(2_001).fill(burn(0)))).toEqual([1_000, 1_000, 1]);
  });

  it('wants a UUID as key', async () => {
    const { exit, stderr } = await cliWith('b.json', '[]').run(
      'burn-batch',
      'b.json',
      '--idempotency-key',
      'order-1',
    );
    expect(exit).toBe(2);
    expect(stderr).toContain('must be a UUID');
  });
});

describe('pending forget', () => {
  const operationOf = async (cli: TestCli): Promise<string> =>
    JSON.parse((await cli.run('pending', '--json')).stdout)[0].id;

  it('knows on what has landed, though nobody has seen it', async () => {
    const text = JSON.stringify([burn(0)]);
    const broken = cliWith('burns.json', text, { unwritable: 'the disk is full' });
    expect((await broken.run('burn-batch', 'burns.json')).exit).toBe(1);
    const mended = cliWith('burns.json', text, { home: broken.home });
    const forgotten = await mended.run('pending', 'forget', await operationOf(mended), '--yes');
    expect([forgotten.exit, forgotten.stderr]).toEqual([0, '']);
    expect(await mended.pending()).toEqual([]);
    expect((await mended.run('burn-batch', 'burns.json')).stderr).toContain('Done before');
    expect(mended.service.calls).toEqual([]);
  });

  it('quotes no more of an unknown id than fits', async () => {
    const { exit, stderr } = await testCli().run('pending', 'forget', 'x'.repeat(100));
    expect([exit, last(stderr).message]).toEqual([2, `No operation "${'x'.repeat(40)}" is pending.`]);
  });

  it('refuses to forget a rest of which something has landed before', async () => {
    const cli = cliWith('burns.json', JSON.stringify([burn(0), burn(1, { proof: { fail: true } })]));
    expect((await cli.run('burn-batch', 'burns.json')).exit).toBe(3);
    cli.service.answer('burnBatch', () => {
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came.');
    });
    expect((await cli.run('burn-batch', 'burns.json', '--rest')).exit).toBe(7);
    const id = await operationOf(cli);
    const refused = await cli.run('pending', 'forget', id, '--yes');
    expect(refused.exit).toBe(2);
    expect(last(refused.stderr).hint).toBe(`This resumes safely: flywheel pending resume ${id} --yes`);
    expect(await cli.pending()).toEqual(['burn-batch open']);
  });
});

describe('burn-batch for people', () => {
  it('says how many were burned, and why the others were not', async () => {
    const cli = cliWith('b.json', JSON.stringify([burn(0), burn(1, { proof: { fail: true } })]), READER);
    const { exit, stdout } = await cli.run('burn-batch', 'b.json');
    expect(exit).toBe(3);
    expect(stdout.split('\n').slice(0, 6)).toEqual([
      'Burned 1 of 2 elements.',
      'burned           1 element, 1.5 tokens',
      'failed           1 element, 1.5 tokens',
      'proofs on chain  0',
      '',
      'What failed',
    ]);
    expect(stdout).toMatch(/^ +\[1\] +ERR_INVALID_PROOF +not this one$/m);
  });
});

describe('burn-batch before anything is sent', () => {
  const changes = {
    burnWallet: { before: '100', after: '97' },
    supply: { before: '1000', after: '997' },
    usedToday: { before: '0', after: '3' },
  };
  /** Somebody who can look ahead, and sees these elements fail. */
  const ahead = (...indexes: readonly number[]): TestCliOptions => ({
    opened: {
      foresight: {
        burns: async () => ({
          failures: indexes.map((index) => ({
            index,
            type: 'ERR_INVALID_PROOF',
            message: 'It is not known.',
          })),
          ...changes,
        }),
        batch: async () => refuse('ERR_INTERNAL', 'Not asked.'),
      },
    },
  });
  const text = JSON.stringify([burn(0), burn(1)]);

  it('sends nothing with --strict when an element would fail, and all of it when none would', async () => {
    const cli = cliWith('b.json', text, ahead(1));
    const answer = await refusal(cli, 'burn-batch', 'b.json', '--strict');
    expect(answer).toEqual([
      ...[2, 'ERR_INPUT_INVALID', '--strict: 1 problem; nothing was sent: [1]: It is not known.'],
    ]);
    expect([cli.service.calls, await cli.pending()]).toEqual([[], []]);
    expect((await cliWith('b.json', text, ahead()).run('burn-batch', 'b.json', '--strict')).exit).toBe(0);
  });

  it('says with --strict that nobody could look, and goes on', async () => {
    const { exit, stderr } = await cliWith('b.json', text).run('burn-batch', 'b.json', '--strict');
    expect([exit, JSON.parse(stderr).warning]).toEqual([
      0,
      'Scopes, types, caps and balances could not be checked first: only the service knows them.',
    ]);
  });

  it('names in a dry run what would fail, which is exit 3', async () => {
    const cli = cliWith('b.json', text, ahead(1));
    const { exit, stdout, stderr } = await cli.run('burn-batch', 'b.json', '--dry-run');
    expect([exit, JSON.parse(stdout).foreseen]).toMatchObject([3, { ...changes, failures: [{ index: 1 }] }]);
    expect(complaint(stderr).message).toBe('1 of 2 elements would fail; nothing was sent.');
    expect(cli.service.calls).toEqual([]);
  });

  it.each([
    [['--again', '--rest'], '--again, --rest and --only-new exclude each other.'],
    [
      ['--again', '--idempotency-key', '00000000-0000-4000-8000-000000000007'],
      '--again makes a key of its own',
    ],
    [['--once'], "Unknown option '--once'"],
    [['c.json'], 'Too many arguments'],
  ])('refuses %j', async (words, message) => {
    const cli = cliWith('b.json', text);
    const answer = await refusal(cli, 'burn-batch', 'b.json', ...words);
    expect(answer).toEqual([2, 'ERR_USAGE', expect.stringContaining(message)]);
    expect([cli.service.calls, await cli.pending()]).toEqual([[], []]);
  });
});
