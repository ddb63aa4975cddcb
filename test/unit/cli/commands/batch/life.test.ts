/**
 * `flywheel batch init`, `inspect`, `approve`, `execute` and `run`: one batch from file to outcome; nothing is signed without a
 * yes.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pipelineContent, pipelinesDigest } from '../../../../../src/actions/pipelines.js';
import type { ChainReader } from '../../../../../src/chain/chain.js';
import { generateKeypair } from '../../../../../src/chain/transaction/sign.js';
import { partOf } from '../../../../../src/cli/batch/batch-stages.js';
import type { Entry, Journal } from '../../../../../src/cli/journal/journal.js';
import type {
  Batch,
  ExecuteResult,
  InitBatchRequest,
  InitBatchResult,
} from '../../../../../src/contract/schemas/batch.js';
import { FILE, honestWorld, KEYS, type World } from '../../../../attacks/world.js';
import { replacing } from '../../../../support/doubles.js';
import { exampleReply, fakeService } from '../../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';
import {
  batchIndex,
  flywheel,
  pipelines as HONEST,
  instructionsOf,
  multisig,
  ownerKeypair,
} from '../../../batch-on-chain.js';
import { approvalIn, chainIn, openedIn } from '../../approval-world.js';
import { nodeOf, pastOf } from '../../past-batch.js';
import { aBatch, complaint, person, refusal, refuse, reply } from '../../single-command.js';

const WAITING = aBatch({ multisig, batchIndex: String(batchIndex) });
const ID = WAITING.id;
const { pipelines } = (exampleReply('initBatch').value as InitBatchResult).batch;
const MADE: InitBatchResult = {
  proposalApproveTx: Buffer.from(honestWorld().wire).toString('base64'),
  batch: { ...WAITING, pipelines },
};
const resultOf = (totalSuccessful: number): ExecuteResult => ({
  ...{ total: 3, totalSuccessful, totalFailed: 3 - totalSuccessful, successfulExecutions: [] },
  ...(totalSuccessful < 3 && {
    failedOnTransactionIndex: totalSuccessful + 1,
    failedTxMsg: 'custom error 1',
  }),
});

/** The owner in a world with all files; the service sets the batch up and executes this many pipelines. */
function cliIn(options: TestCliOptions = {}, world: World = honestWorld(), executes = 3): TestCli {
  const service = options.service ?? fakeService();
  if (options.service === undefined) {
    let batch: Batch = WAITING;
    for (const operation of ['initBatch', 'issueApproval'] as const)
      service.answer(operation, () => reply(MADE));
    service.answer('getBatch', () => reply(batch));
    service.answer('executeBatch', () => {
      const result = resultOf(executes);
      batch = { ...WAITING, status: executes === 3 ? 'EXECUTED' : 'FAILED', executeResult: result };
      return reply({ batchId: ID, result });
    });
    service.answer('batchPipelines', () => {
      const items = HONEST.map((pipeline, index) => ({
        ...{ ...pipeline, index, state: index < executes ? 'EXECUTED' : 'NOT_EXECUTED' },
      }));
      return reply({ items, nextCursor: null });
    });
  }
  const opened = {
    ...({ ...openedIn(world), kind: 'embedded', service: service.service } as const),
    trusted: async () => flywheel,
  };
  const cli = testCli({ ...options, service, opened: { ...opened, ...options.opened } });
  approvalIn(cli.home, world);
  writeFileSync(join(cli.home, 'p.json'), JSON.stringify(FILE));
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli;
}
const keepStranger = ({ home }: TestCli): void =>
  writeFileSync(join(home, 'owner.json'), JSON.stringify([...generateKeypair()]), { mode: 0o600 });
const acted = ({ service }: TestCli) =>
  service.calls
    .map(({ operation }) => operation)
    .filter((operation) => /^(init|issue|execute)/.test(operation));
const executed = ({ service }: TestCli) =>
  service.calls.flatMap(({ operation, input, call }) =>
    operation === 'executeBatch' ? [[(input as { signedTx: string }).signedTx, call.idempotencyKey]] : [],
  );

const INIT = ['batch', 'init', 'p.json'];
const APPROVE = ['batch', 'approve', 'approval.json', '--keypair', 'owner.json'];
const EXECUTE = ['batch', 'execute', ID];
const RUN = ['batch', 'run', 'p.json', '--keypair', 'owner.json'];
const SIGNED = 'AgAAAAAAAAAA';

describe('batch init', () => {
  it('asks for what the file says under a key of the journal, prints the answer and writes it', async () => {
    const cli = cliIn();
    const { exit, stdout, stderr } = await cli.run(...INIT);
    const path = join(cli.home, `.local/share/flywheel/approvals/${ID}.json`);
    expect([exit, JSON.parse(stdout)]).toEqual([0, MADE]);
    expect(stderr).toContain(path);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject(JSON.parse(JSON.stringify(MADE)));
    const asked = FILE.map(({ payload, ...one }) => ({ ...one, payload: JSON.stringify(payload) }));
    expect(cli.service.calls[0]).toMatchObject({ operation: 'initBatch', input: { pipelines: asked } });
    expect(cli.service.calls[0]?.call.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
    const other = cliIn();
    await other.run(...INIT, '--out', 'a.json', '--idempotency-key', 'mine');
    expect([existsSync(join(other.home, 'a.json')), other.service.calls[0]?.call.idempotencyKey]).toEqual([
      ...[true, 'mine'],
    ]);
  });

  it('is found by its batch, though its process ended while that was noted', async () => {
    const first = cliIn();
    const { openService } = first.context;
    const openers: TestCliOptions['openers'] = {
      openService: async (settings) => {
        const opened = await openService(settings);
        return {
          ...opened,
          journal: async () => failing(await opened.journal(), () => acted(first).length > 0),
        };
      },
    };
    const broken = testCli({ home: first.home, service: first.service, openers });
    expect((await broken.run(...INIT)).stderr).toContain('disk is full');
    expect((await first.run(...INIT)).exit).toBe(0);
    const journal = await first.journal();
    expect(journal.takeBatch(ID)).toBeDefined();
    journal.close();
  });
});

describe('batch approve', () => {
  it('signs nothing more where the owner has approved, and nothing with a keypair of somebody else', async () => {
    const world = honestWorld();
    world.state = (state) => {
      state.proposal = { ...state.proposal, approved: [KEYS.owner] };
    };
    const words = [...APPROVE, '--expect', 'p.json', '--yes'];
    const { exit, stdout } = await cliIn({}, world).run(...words);
    expect([exit, JSON.parse(stdout)]).toMatchObject([0, { alreadyApproved: true }]);
    const stranger = cliIn();
    keepStranger(stranger);
    expect((await refusal(stranger, ...words)).slice(0, 2)).toEqual([9, 'ERR_APPROVAL_REFUSED']);
  });
});

describe('batch execute', () => {
  it('sends the approval under the key that was given, from a file or standard input, and prints the result', async () => {
    const printed = JSON.stringify({ batchId: ID, signedTx: SIGNED });
    for (const option of [SIGNED, '-', '@signed.json']) {
      const cli = cliIn({ stdin: ` ${SIGNED}\n` });
      writeFileSync(join(cli.home, 'signed.json'), printed);
      const { exit, stdout } = await cli.run(...EXECUTE, '--signed-tx', option, '--idempotency-key', 'mine');
      expect([exit, JSON.parse(stdout)]).toEqual([0, { batchId: ID, result: resultOf(3) }]);
      expect([executed(cli), await cli.pending()]).toEqual([[[SIGNED, 'mine']], []]);
    }
  });

  it('checks, asks, signs and sends an approval in one go, and nothing after a no or without --expect', async () => {
    const signing = [...EXECUTE, '--approval', 'approval.json', '--keypair', 'owner.json'];
    for (const [options, words, exit] of [
      [person('y'), [], 0],
      [person('n'), [], 130],
      [{}, ['--yes'], 2],
      [{}, ['--yes', '--expect', 'p.json'], 0],
    ] as const) {
      const cli = cliIn(options);
      const ended = await cli.run(...signing, ...words);
      expect([ended.exit, executed(cli).length]).toEqual([exit, exit === 0 ? 1 : 0]);
    }
  });
});

describe('batch run', () => {
  it('names all that it needs at once, before anything is set up', async () => {
    const cli = cliIn({ opened: { kind: 'remote', chain: null, pins: null } });
    const { exit, stderr } = await cli.run(...RUN, '--yes');
    const { message, hint = '' } = complaint(stderr);
    expect([exit, acted(cli), message]).toEqual([
      ...[9, [], 'No RPC node is set and no project is pinned, so the batch cannot be checked.'],
    ]);
    for (const step of ['FLYWHEEL_RPC_URL', 'flywheel profile add', 'flywheel profile pin'])
      expect(hint).toContain(step);
  });
});

describe('what was paid before', () => {
  const PAID =
    /TWICE: (\d of 3 proofs ha(?:s|ve) already [a-z ]+), pipeline (\d) on 2026-01-31 in batch earlier/;
  const SCRIPT = ['--expect', 'p.json', '--yes'];

  /** A machine that approved another batch of the same pipelines, of which this many were executed. */
  async function paidBefore(
    executed: number,
    isOver: boolean,
    options: TestCliOptions = {},
  ): Promise<TestCli> {
    const cli = cliIn(options);
    const journal = await cli.journal();
    const record = journal.approvals;
    const content = HONEST.map((pipeline) => pipelineContent(pipeline, 6));
    const named = { batchIndex: 3n, digest: pipelinesDigest(HONEST), batchId: 'earlier', profile: '' };
    record.approve(
      { ...flywheel, ...named, pipelines: content, own: [], newest: null },
      () => undefined,
      null,
    );
    record.executed(flywheel, { batchId: 'earlier', batchIndex: 3n }, executed, isOver);
    journal.close();
    return cli;
  }

  /** The suggested command, without the options that the test adds to every command. */
  const lineIn = (stderr: string): string =>
    (complaint(stderr).hint ?? '').replace(/^.*: (?=flywheel)/, '').replace(' --json', '');

  it.each([
    ['approve', APPROVE],
    ['execute', [...EXECUTE, '--approval', 'approval.json', '--keypair', 'owner.json']],
  ])('is not signed by %s --yes, but with --again', async (_name, words) => {
    const cli = await paidBefore(3, true);
    const { exit, stdout, stderr } = await cli.run(...words, ...SCRIPT);
    expect([exit, stdout, executed(cli)]).toEqual([2, '', []]);
    expect(complaint(stderr)).toMatchObject({ error: 'ERR_INPUT_INVALID', message: PAID });
    expect(lineIn(stderr)).toBe(`flywheel ${[...words, ...SCRIPT].join(' ')} --again`);
    const again = await cli.run(...words, ...SCRIPT, '--again');
    expect([again.exit, again.stderr]).toEqual([0, expect.stringMatching(PAID)]);
  });

  it('is not set up by run --yes, nor planned, but with --again', async () => {
    const cli = await paidBefore(0, false);
    for (const more of [[], ['--dry-run'], ['--rest']]) {
      const { exit, stderr } = await cli.run(...RUN, '--yes', ...more);
      if (more[0] === '--rest') expect([exit, acted(cli)]).toEqual([2, []]);
      else {
        expect([exit, complaint(stderr).message, acted(cli)]).toEqual([2, expect.stringMatching(PAID), []]);
        expect(lineIn(stderr)).toBe(`flywheel ${[...RUN, '--yes', ...more].join(' ')} --again`);
        // Another client may have cancelled what was approved here.
        expect(complaint(stderr).hint).toMatch(/`flywheel batch cancel earlier [^`]*--yes`/);
      }
    }
    expect(await cli.pending()).toEqual([]);
    const planned = await cli.run(...RUN, '--dry-run');
    expect([planned.exit, planned.stderr]).toEqual([0, expect.stringMatching(PAID)]);
    expect((await cli.run(...RUN, '--yes', '--again')).exit).toBe(0);
    expect(executed(cli)).toHaveLength(1);
  });

  it('is in the question, the summary and the inspection', async () => {
    const cli = await paidBefore(1, false, person('n'));
    const asked = await cli.run(...APPROVE);
    expect(asked.stderr.replace(/\s+/g, ' ')).toMatch(
      /Declined\. Nothing was signed\. Batch \S+ still waits for approval\. .* `?flywheel batch cancel \S{36}/,
    );
    expect(asked.questions.join()).toMatch(/, though 3 of 3 proofs have already landed or been approved\?/);
    expect(asked.stderr).toMatch(/^TWICE +3 of 3 proofs/m);
    const { stdout } = await cli.run('batch', 'inspect', 'approval.json', '--json');
    const warnings = [expect.stringMatching(PAID), expect.stringContaining('UNUSUAL: pipeline 3')];
    expect(JSON.parse(stdout)).toMatchObject({ problem: null, warnings });
  });

  it('names no keypair in its lines that cannot be read, and agrees in those of a script', async () => {
    const cli = cliIn();
    await cli.run(...INIT);
    const words = RUN.map((word) => (word === 'owner.json' ? 'nope.json' : word));
    const { exit, stderr } = await cli.run(...words, '--yes');
    const { error, hint = '' } = complaint(stderr);
    expect([exit, error, hint]).toEqual([2, 'ERR_KEYPAIR_INVALID', expect.not.stringContaining('nope')]);
    expect(hint).toMatch(
      /batch execute \S+ --keypair OWNER.json .*batch cancel \S+ --keypair OWNER.json --yes/,
    );
  });

  it('names a line that works where the batch is set up already', async () => {
    const cli = cliIn();
    await cli.run(...INIT);
    const other = await paidBefore(3, true, { home: cli.home, service: cli.service });
    const { exit, stderr } = await other.run(...RUN, '--yes');
    expect([exit, complaint(stderr).message]).toEqual([2, expect.stringMatching(PAID)]);
    const line = /`flywheel ([^`]+--again[^`]*)`/.exec(complaint(stderr).hint ?? '')?.[1] ?? '';
    expect(line).toMatch(/^batch execute .* --expect sha256:\w{64} --again --yes$/);
    expect((await other.run(...line.split(' '))).exit).toBe(0);
    expect(executed(other)).toHaveLength(1);
  });
});

describe('before the question', () => {
  it.each([
    ['approve', APPROVE],
    ['execute', [...EXECUTE, '--approval', 'approval.json', '--keypair', 'owner.json']],
    ['cancel', ['batch', 'cancel', ID, '--keypair', 'owner.json']],
  ])("%s finds that the keypair is not the owner's", async (_name, words) => {
    const cli = cliIn(person('y'));
    keepStranger(cli);
    const { exit, questions, stderr } = await cli.run(...words);
    expect([exit, questions, stderr]).toEqual([9, [], expect.stringContaining('The keypair belongs to')]);
  });

  it('approve says how a batch ended whose accounts are closed', async () => {
    const world = honestWorld();
    const node = nodeOf(pastOf(instructionsOf(), 3));
    const getAccounts: ChainReader['getAccounts'] = async (addresses) =>
      (await chainIn(world).getAccounts(addresses)).map((account, at) =>
        addresses[at] === multisig ? account : null,
      );
    const cli = cliIn({ opened: { chain: { ...node, getAccounts } } });
    const [exit, code, message] = await refusal(cli, ...APPROVE, '--yes', '--expect', 'p.json');
    expect([exit, code, message]).toEqual([
      ...[2, 'ERR_INVALID_REQUEST', expect.stringContaining('is over on chain (executed)')],
    ]);
  });
});

describe('batch inspect --expect', () => {
  it('is judged as approve judges it', async () => {
    const cli = cliIn(person());
    const same = await cli.run('batch', 'inspect', 'approval.json', '--expect', 'p.json');
    expect([same.exit, same.stdout]).toEqual([
      0,
      expect.stringMatching(/equals\s+the\s+expected\s+pipelines/),
    ]);
    const asked = await cli.run(...APPROVE);
    const end = (text: string) => text.slice(text.indexOf('digest sha256:'), text.indexOf('signs as') + 54);
    expect(end(same.stdout)).toBe(end(asked.stderr));
    const words = ['--expect', `sha256:${'0'.repeat(64)}`, '--json'];
    const other = await cli.run('batch', 'inspect', 'approval.json', ...words);
    expect(JSON.parse(other.stdout).problem).toContain('The digest of the batch is');
  });
});

describe('batch init --dry-run', () => {
  it('tells of pipelines that are in the file twice, of the largest and of what is unusual', async () => {
    const cli = cliIn(person());
    const many = [1, 1, 1, 400].map((amount) => ({ ...FILE[0], actions: [{ action: 'BURN', amount }] }));
    writeFileSync(join(cli.home, 'p.json'), JSON.stringify(many));
    const { exit, stdout, stderr } = await cli.run(...INIT, '--dry-run');
    expect([exit, stderr]).toEqual([0, expect.stringContaining('2 of 4 pipelines duplicate an earlier one')]);
    const changed = '1 of 4 pipelines have the proof of an earlier one with another amount or recipient';
    expect(stderr.replace(/\s+/g, ' ')).toContain(`${changed} (pipeline 4 and pipeline 1)`);
    const { stdout: json } = await testCli({ home: cli.home, service: cli.service }).run(
      ...INIT,
      '--dry-run',
    );
    expect(JSON.parse(json).warnings).toEqual([
      expect.stringContaining('2 of 4 pipelines duplicate an earlier one'),
      expect.stringContaining('1 of 4 pipelines have the proof'),
      expect.stringMatching(/^UNUSUAL: pipeline 4: burn 400 tokens/),
    ]);
    expect(stdout).toMatch(/^burns +403 tokens; the largest 400 tokens, pipeline 4$/m);
    expect(stdout).toMatch(/^UNUSUAL +pipeline 4: burn 400 tokens, 400 times the median of 1 token$/m);
  });
});

/** A journal that fails at the second write after the answer of init. */
function failing(journal: Journal, hasAnswered: () => boolean): Journal {
  let writes = 0;
  const write = <Value>(act: () => Value): Value => {
    if (hasAnswered()) writes += 1;
    return writes === 2 ? refuse('ERR_STORE_UNAVAILABLE', 'The disk is full.') : act();
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

describe('a part of a request', () => {
  it('has every other field of the request and every field of its pipelines', () => {
    const [first, second] = [{ type: 'A' }, { type: 'B', later: true }];
    const request = { pipelines: [first, second], later: 1 } as unknown as InitBatchRequest;
    expect(partOf(request, [1])).toEqual({ pipelines: [second], later: 1 });
    expect(partOf(request, null)).toEqual(request);
  });
});
