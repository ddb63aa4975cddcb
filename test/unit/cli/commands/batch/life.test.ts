/**
 * `flywheel batch init`, `inspect`, `approve`, `execute` and `run`: one batch from file to outcome; nothing is signed without a
 * yes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChainReader } from '../../../../../src/chain/chain.js';
import { generateKeypair } from '../../../../../src/chain/transaction/sign.js';
import type { Entry, Journal } from '../../../../../src/cli/journal/journal.js';
import type { Batch, ExecuteResult, InitBatchResult } from '../../../../../src/contract/schemas/batch.js';
import { FlywheelError } from '../../../../../src/errors/flywheel-error.js';
import { FILE, honestWorld, type World } from '../../../../attacks/world.js';
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
import { approvalIn, chainIn, openedIn, paidBefore } from '../../approval-world.js';
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

describe('a set-up that can only be cancelled', () => {
  it('stays in the journal with the line that cancels it, however often it is tried', async () => {
    const cli = cliIn();
    const refused = () => Promise.reject(new FlywheelError('ERR_INVALID_REQUEST', 'The multisig changed.'));
    cli.service.answer('initBatch', refused);
    const items = [{ ...WAITING, status: 'AVAILABLE_TO_QUEUE' }];
    cli.service.answer('listBatches', () => reply({ items, nextCursor: null }));
    for (let time = 1; time <= 2; time += 1) {
      const { exit, stderr } = await cli.run(...RUN, '--yes');
      const { message, hint } = complaint(stderr);
      expect([exit, message, hint]).toEqual([
        ...[2, 'The multisig changed.', expect.stringContaining(`\`flywheel batch cancel ${ID}`)],
      ]);
      expect(await cli.pending()).toEqual(['batch open']);
    }
  });
});

describe('what was paid before', () => {
  it('is in the JSON of the inspection', async () => {
    const cli = cliIn();
    await paidBefore(cli, 1, false);
    const { stdout } = await cli.run('batch', 'inspect', 'approval.json');
    const warnings = [expect.stringMatching(/^TWICE: 3 /), expect.stringMatching(/^UNUSUAL: pipeline 3/)];
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
    const other = cliIn({ home: cli.home, service: cli.service });
    await paidBefore(other, 3, true);
    const { exit, stderr } = await other.run(...RUN, '--yes');
    expect([exit, complaint(stderr).message]).toEqual([2, expect.stringMatching(/^TWICE: 3 of 3/)]);
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
