/**
 * Text of a service on a terminal: no control sequence takes effect, nothing is hidden or passes for our output; JSON keeps it
 * unchanged.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type AnswerOf, EXAMPLES } from '../support/fake-service.js';
import { json, type Stub, startStub } from '../support/http-stub.js';
import { openRemoteService, openWithJournal, type TestCli, testCli } from '../support/in-process.js';
import { emptyDirectory, shellWords } from '../support/spawn.js';

const range = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at)).join('');

/** Every control and invisible character, and a line that imitates our output. */
const EVIL = [
  'evil',
  range(0, 0x1f),
  range(0x7f, 0x9f),
  '\u001b[2J\u001b]0;title\u0007\u009b31m\r\u0008',
  '\u00ad\u034f\u061c\u115f\u180e\ufeff\ufff9\u3164',
  range(0x200b, 0x200f),
  range(0x2028, 0x202e),
  range(0x2060, 0x206f),
  range(0xe0020, 0xe007f),
  '\u{e0001}\ufe0f',
  '\nFORGED: all is well\r\nFORGED again\u2028FORGED too',
].join('');

/** Characters that no output may have, except our own line breaks. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]/u;
const SPINNER = ['\u001b[?2026h', '\u001b[?2026l', '\u001b[1G', '\u001b[0K'];

const UUID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
type Batch = NonNullable<AnswerOf<'getBatch'>>;
/** Every text but its id and status. */
const batch = Object.fromEntries(
  Object.entries(EXAMPLES.getBatch.response as Batch).map(([name, value]) => [
    ...[name, typeof value === 'string' && name !== 'id' && name !== 'status' ? EVIL : value],
  ]),
) as Batch;
const TX = (EXAMPLES.burn.response as AnswerOf<'burn'>).txHash;
const result = {
  total: 2,
  totalSuccessful: 1,
  totalFailed: 1,
  successfulExecutions: [{ bundleId: EVIL, txHashes: [TX] }],
  failedTxMsg: EVIL,
};
const finished: Batch = {
  ...batch,
  status: 'FAILED',
  executeResult: result,
  initResult: {
    ...{ ...result, batchIndex: 1 },
    successfulExecutions: [{ bundleId: EVIL, txHashes: ['1'.repeat(64)] }],
  },
};
const init = EXAMPLES.initBatch.response as AnswerOf<'initBatch'>;
const burned = { ...(EXAMPLES.burn.response as AnswerOf<'burn'>), hash: EVIL, dateBurned: EVIL };
const partly = EXAMPLES.burnBatch.response as AnswerOf<'burnBatch'>;
const partlyBurned = {
  success: [burned],
  errors: [{ ...partly.errors[0], message: EVIL, type: EVIL }],
};

const problem = { error: EVIL, message: EVIL };

interface Case {
  readonly words: readonly string[];
  readonly answer: unknown;
  readonly status?: number;
  /** The answer to reads. @default `answer` */
  readonly read?: unknown;
  /** Expected part of the output that is not the service's. */
  readonly shows?: string;
}

const PROOF = '{"orderId":"A-1001","total":49.9}';
const BURN = ['burn', '--type', 'PRODUCT_BUY', '--proof', PROOF, '--amount', '12.5'];
const CASES: Readonly<Record<string, Case>> = {
  burn: { words: BURN, answer: burned },
  'burn-batch': { words: ['burn-batch', 'burns.json'], answer: partlyBurned },
  'batch status': { words: ['batch', 'status', UUID], answer: finished },
  'batch current': { words: ['batch', 'current'], answer: batch },
  'batch init': {
    words: ['batch', 'init', 'pipelines.json', '--out', 'approval.json'],
    answer: { ...init, batch: { ...batch, pipelines: init.batch.pipelines } },
  },
  'batch execute': {
    words: ['batch', 'execute', UUID, '--signed-tx', 'AgAAAAAAAAAA'],
    answer: { batchId: UUID, result },
    read: { ...batch, id: UUID },
  },
  doctor: { words: ['doctor'], answer: problem, status: 400 },
  'an error': { words: BURN, answer: problem, status: 400 },
  'an error of a read': { words: ['batch', 'status', UUID], answer: problem, status: 400 },
  'an error of a list': { words: ['burn-batch', 'burns.json'], answer: problem, status: 400 },
  'a wrong answer': {
    words: ['batch', 'current'],
    answer: { ...batch, status: EVIL, [EVIL]: 1 },
    shows: 'status',
  },
  'a contradiction': { words: BURN, answer: { ...burned, result: EVIL } },
  'another type': { words: BURN, answer: { ...burned, type: 't'.repeat(3) + EVIL.slice(0, 60) } },
};

const stubs: Stub[] = [];
afterEach(async () => {
  for (const stub of stubs.splice(0)) await stub.close();
});

/** The command line with the real client against a service with this answer. */
async function commandLine({ answer, read = answer, status = 200 }: Case, human: boolean): Promise<TestCli> {
  const headers = { 'x-request-id': 'r\u009b31m\u00ad', 'retry-after': '\u009b2J', location: '/\u009b' };
  const stub = await startStub((request, ...rest) => {
    // Look-ups are unavailable.
    const isLookUp = /[?&](?:idempotencyKey|proofHash)=|\/pipelines\b/.test(request.url ?? '');
    const reply = isLookUp
      ? json(404, { error: 'ERR_NOT_FOUND', message: 'Nothing is at this path.' })
      : json(status, request.method === 'GET' ? read : answer, headers);
    return reply(request, ...rest);
  });
  stubs.push(stub);
  const home = emptyDirectory();
  writeFileSync(join(home, 'burns.json'), JSON.stringify(EXAMPLES.burnBatch.request));
  writeFileSync(join(home, 'pipelines.json'), JSON.stringify(EXAMPLES.initBatch.request));
  const cli: TestCli = testCli({
    home,
    env: {
      NO_COLOR: '1',
      FLYWHEEL_DEBUG: '1',
      FLYWHEEL_API_URL: stub.url,
      FLYWHEEL_API_KEY: 'secret-api-key-1234567890',
    },
    tty: human ? { stdin: true, stdout: true, stderr: true } : {},
    openers: {
      openService: (settings) =>
        openWithJournal(cli.context, settings, (_settings, warn) =>
          openRemoteService(cli.context, settings, stub.url, { warn }),
        ),
    },
  });
  return cli;
}

describe.each(Object.entries(CASES))('%s', (_name, given) => {
  it.each(['--no-color', '-v', '-q'])(
    'shows nothing but visible text on lines of its own, with %s',
    async (more) => {
      const cli = await commandLine(given, true);
      const { stdout, stderr } = await cli.run(...given.words, '--max-wait', '0', '--yes', more);
      const printed = SPINNER.reduce((text, drawn) => text.replaceAll(drawn, ''), `${stdout}${stderr}`);
      for (const line of printed.split('\n')) {
        expect(line).not.toMatch(HIDDEN);
        expect(line).not.toMatch(/^FORGED/);
      }
      expect(printed).toContain(given.shows ?? 'evil');
    },
  );

  it('keeps it as it is in JSON, and nothing hidden in the text of that', async () => {
    const cli = await commandLine(given, false);
    const { stdout, stderr } = await cli.run(...given.words, '--max-wait', '0', '-v', '--json');
    for (const line of `${stdout}${stderr}`.split('\n')) {
      expect(line).not.toMatch(HIDDEN);
      expect(line).not.toMatch(/^FORGED/);
    }
    if (stdout !== '') expect(() => JSON.parse(stdout)).not.toThrow();
  });
});

describe('JSON output', () => {
  it('is the answer of the service, character by character', async () => {
    const cli = await commandLine({ words: [], answer: finished }, false);
    const { stdout } = await cli.run('batch', 'status', UUID);
    expect(JSON.parse(stdout)).toEqual(finished);
    const errors = await commandLine({ words: [], answer: problem, status: 400 }, false);
    const { stderr, exit } = await errors.run('batch', 'status', UUID);
    const { message } = JSON.parse(stderr.split('\n')[0] ?? '') as { message: string };
    expect([message, exit]).toEqual([EVIL, 5]);
    const named = { ...partly, errors: [{ ...partly.errors[0], message: EVIL }] };
    const lines = await commandLine({ words: [], answer: named }, false);
    const { stdout: elements } = await lines.run('burn-batch', 'burns.json', '--output', 'ndjson');
    const parsed = elements
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(parsed.map(({ index, message: said }) => [index, said])).toEqual([
      [0, undefined],
      [1, EVIL],
    ]);
  });

  it('is written to files as it came', async () => {
    const given = CASES['batch init'] as Case;
    const cli = await commandLine(given, true);
    await cli.run(...given.words);
    expect(JSON.parse(readFileSync(join(cli.home, 'approval.json'), 'utf8'))).toMatchObject(
      given.answer as object,
    );
  });
});

describe('a command that resumes', () => {
  it('is printed so that a shell reads back what was typed, hidden characters too', async () => {
    const cli = await commandLine({ words: [], answer: { ...burned, result: 'FAILURE' } }, true);
    const dataDir = join(cli.home, "it's \u2764\ufe0f\u202e\u200b");
    const { stderr, exit } = await cli.run(...BURN, '--local', '--data-dir', dataDir, '--yes');
    expect(exit).toBe(7);
    expect(stderr).not.toContain('\ufe0f');
    const line = /Resume it:\s+(flywheel .*)/.exec(stderr)?.[1] ?? '';
    const words = shellWords(line);
    expect(words[words.indexOf('--data-dir') + 1]).toBe(dataDir);
  });
});
