/** `flywheel batch init`: what a file becomes, where the approval goes, and that the same file is the same batch. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Entry, Journal } from '../../../../../src/cli/journal/journal.js';
import type { BatchForesight } from '../../../../../src/contract/foresight.js';
import type { InitBatchResult } from '../../../../../src/contract/schemas/batch.js';
import { FlywheelError } from '../../../../../src/errors/flywheel-error.js';
import { aBatch, complaint, READER, refusal, refuse, reply } from '../../../../support/commands.js';
import { replacing } from '../../../../support/doubles.js';
import { exampleReply } from '../../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';

const FILE = {
  pipelines: [{ type: 'T', payload: { b: 1, a: 2 }, actions: [{ action: 'BURN', amount: '1.5' }] }],
};
const REQUEST = {
  pipelines: [{ type: 'T', payload: '{"a":2,"b":1}', actions: [{ action: 'BURN', amount: 1.5 }] }],
};
const MADE = exampleReply('initBatch').value as InitBatchResult;
const WORDS = ['batch', 'init', 'p.json'];

function cliWith(options: TestCliOptions = {}, file: unknown = FILE): TestCli {
  const cli = testCli(options);
  writeFileSync(join(cli.home, 'p.json'), JSON.stringify(file));
  return cli;
}

const operations = ({ service }: TestCli) => service.calls.map(({ operation }) => operation);

describe('batch init', () => {
  it('asks for what the file says under a key of the journal, and prints the answer as it is', async () => {
    const cli = cliWith();
    const { exit, stdout, stderr } = await cli.run(...WORDS);
    const path = join(cli.home, `.local/share/flywheel/approvals/${MADE.batch.id}.json`);
    expect([exit, stdout]).toEqual([0, `${JSON.stringify(MADE)}\n`]);
    expect(JSON.parse(stderr)).toEqual({ notice: `The approval file is ${path}.` });
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ ...MADE, pipelines: [{ type: 'T' }] });
    expect(cli.service.calls[0]).toMatchObject({ operation: 'initBatch', input: REQUEST });
    expect(cli.service.calls[0]?.call.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
    expect(await cli.pending()).toEqual([]);
  });

  it('tells people what is next, and takes file and key from options', async () => {
    const cli = cliWith(READER);
    const { stdout, stderr } = await cli.run(...WORDS, '--out', 'a.json', '--idempotency-key', 'mine');
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        `Batch ${MADE.batch.id} FINALIZED`,
        `Next: flywheel batch approve ${MADE.batch.id} --keypair FILE`,
      ]),
    );
    expect(stderr).toBe(`The approval file is ${join(cli.home, 'a.json')}.\n`);
    expect(existsSync(join(cli.home, 'a.json'))).toBe(true);
    expect(cli.service.calls[0]?.call.idempotencyKey).toBe('mine');
  });

  it('sets the same file up once, however its payloads are written, with a fresh approval', async () => {
    const cli = cliWith();
    await cli.run(...WORDS);
    const [pipeline] = FILE.pipelines;
    writeFileSync(
      join(cli.home, 'p.json'),
      JSON.stringify([{ ...pipeline, payload: '{ "a": 2, "b": 1.0 }' }]),
    );
    const again = await cli.run(...WORDS);
    expect([again.exit, again.stdout]).toEqual([0, `${JSON.stringify(MADE)}\n`]);
    expect(operations(cli)).toEqual(['initBatch', 'getBatch', 'issueApproval']);
  });

  it.each([
    ['ERR_PIPELINE_TOO_LARGE', 5],
    ['ERR_INSUFFICIENT_FUNDS', 5],
    ['ERR_KEY_SCOPES_UNAUTHORIZED', 4],
  ] as const)('exits for %s with %i, writes no file and leaves nothing pending', async (code, exit) => {
    const cli = cliWith();
    cli.service.answer('initBatch', () => refuse(code, 'It cannot be.'));
    expect(await refusal(cli, ...WORDS, '--out', 'a.json')).toEqual([exit, code, 'It cannot be.']);
    expect([existsSync(join(cli.home, 'a.json')), await cli.pending()]).toEqual([false, []]);
  });

  it('keeps a batch pending of which no answer came', async () => {
    const cli = cliWith();
    cli.service.answer('initBatch', () => refuse('ERR_OUTCOME_UNKNOWN', 'No answer came.'));
    const { exit, stderr } = await cli.run(...WORDS);
    expect([exit, complaint(stderr).hint]).toEqual([
      7,
      expect.stringMatching(/^This resumes safely: flywheel pending resume /),
    ]);
    expect(await cli.pending()).toEqual(['batch open']);
  });

  it('reports every problem of a file and sends nothing', async () => {
    const file = [
      { type: '', payload: [], actions: [] },
      { ...FILE.pipelines[0], extra: 1 },
    ];
    const cli = cliWith({}, file);
    const [exit, code, message] = await refusal(cli, ...WORDS);
    expect([exit, code]).toEqual([2, 'ERR_INPUT_INVALID']);
    for (const place of ['[0].type', '[0].payload', '[0].actions', '[1]']) expect(message).toContain(place);
    expect(cli.service.calls).toEqual([]);
  });

  it.each([
    [[...WORDS, '--again', '--rest'], 'ERR_USAGE', '--again, --rest and --only-new exclude each other.'],
    [[...WORDS, '--again', '--idempotency-key', 'k'], 'ERR_USAGE', '--again makes a key of its own'],
    [[...WORDS, '--idempotency-key', 'ä'], 'ERR_USAGE', '--idempotency-key takes 1 to 255 visible ASCII'],
    [[...WORDS, '--rest'], 'ERR_INPUT_INVALID', 'Nothing of this file was done yet, so there is no rest.'],
    [[...WORDS, '--out', 'no/such/a.json'], 'ERR_INPUT_INVALID', 'no/such'],
    [['batch', 'init', 'none.json'], 'ERR_INPUT_INVALID', 'none.json: there is no such file.'],
    [['batch', 'init'], 'ERR_USAGE', "Missing required argument 'pipelines'"],
  ])('refuses %j and sends nothing', async (words, code, message) => {
    const cli = cliWith();
    expect(await refusal(cli, ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect([operations(cli), await cli.pending()]).toEqual([[], []]);
  });

  it('is found by its batch, though its process ended while that was noted', async () => {
    const first = cliWith();
    first.service.answer('getBatch', () => reply(aBatch({ id: MADE.batch.id })));
    const hasAnswered = (): boolean => first.service.calls.some(({ operation }) => operation === 'initBatch');
    const { openService } = first.context;
    const broken = testCli({
      home: first.home,
      service: first.service,
      openers: {
        openService: async (settings) => {
          const opened = await openService(settings);
          return { ...opened, journal: async () => failing(await opened.journal(), hasAnswered) };
        },
      },
    });
    expect((await broken.run(...WORDS)).stderr).toContain('disk is full');
    const again = await first.run(...WORDS);
    expect([again.exit, again.exit === 0 ? '' : again.stderr]).toEqual([0, '']);
    const journal = await first.journal();
    expect(journal.takeBatch(MADE.batch.id)).toBeDefined();
    journal.close();
  });
});

describe('batch init --dry-run', () => {
  const plan = {
    ...{ dryRun: true, pipelines: 1, actions: { burn: 1, airdrop: 0, memo: 0 } },
    ...{ totalBurn: '1.5', totalAirdrop: '0', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
  };
  const foreseen: BatchForesight = {
    vault: { before: '10', after: '8.5' },
    supply: { before: '100', after: '98.5' },
    usedToday: { burn: { before: '0', after: '1.5' }, airdrop: { before: '0', after: '0' } },
    rent: '0.01',
  };
  const foresight = { batch: async () => foreseen, burns: async () => refuse('ERR_INTERNAL', 'Not asked.') };

  it('adds the file up and sends nothing, with or without somebody who can look ahead', async () => {
    const cli = cliWith();
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--dry-run', '--out', 'a.json');
    expect([exit, stderr, JSON.parse(stdout)]).toEqual([0, '', { ...plan, foreseen: null }]);
    expect([operations(cli), existsSync(join(cli.home, 'a.json'))]).toEqual([[], false]);
    const ahead = cliWith({ opened: { foresight } });
    expect(JSON.parse((await ahead.run(...WORDS, '--dry-run')).stdout)).toEqual({ ...plan, foreseen });
  });

  it('tells people what it would change, or that nobody has looked', async () => {
    const { stdout } = await cliWith({ ...READER, opened: { foresight } }).run(...WORDS, '--dry-run');
    expect(stdout).toMatch(/^The file is good; nothing was sent\.\n/);
    expect(stdout).toMatch(/^vault +10 → 8\.5 tokens$/m);
    expect(stdout).toMatch(/^daily airdrop +0 tokens used$/m);
    expect((await cliWith(READER).run(...WORDS, '--dry-run')).stdout).toContain(
      'only the service knows them',
    );
  });

  it('refuses what init would be refused with', async () => {
    const batch = async () => refuse('ERR_DAILY_LIMIT_EXCEEDED', 'Over the cap by 1.');
    const cli = cliWith({ opened: { foresight: { ...foresight, batch } } });
    expect(await refusal(cli, ...WORDS, '--dry-run')).toEqual([
      ...[5, 'ERR_DAILY_LIMIT_EXCEEDED', 'Over the cap by 1.'],
    ]);
  });
});

/** A journal that fails at the write after the first one that follows the answer of init. */
function failing(journal: Journal, hasAnswered: () => boolean): Journal {
  let writes = 0;
  const write = <Value>(act: () => Value): Value => {
    if (hasAnswered()) writes += 1;
    if (writes === 2) throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.');
    return act();
  };
  const failingEntry = (entry: Entry): Entry =>
    replacing(entry, {
      note: (notes) => write(() => entry.note(notes)),
      keep: (name, answer) => write(() => entry.keep(name, answer)),
    });
  return replacing(journal, {
    begin: (request) => {
      const begun = journal.begin(request);
      return begun.status === 'taken' ? { ...begun, entry: failingEntry(begun.entry) } : begun;
    },
  });
}
