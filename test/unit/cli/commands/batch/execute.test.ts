/** `flywheel batch execute`: which approval is sent, once, and what its outcome amounts to. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Batch, ExecuteResult } from '../../../../../src/contract/schemas/batch.js';
import { approvalIn, FILE, honestWorld, openedIn } from '../../../../support/approval-world.js';
import { batchIndex, multisig, ownerKeypair } from '../../../../support/batch-on-chain.js';
import { aBatch, complaint, person, READER, refusal, refuse, reply } from '../../../../support/commands.js';
import { type FakeService, fakeService } from '../../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';

const WAITING = aBatch({ multisig, batchIndex: String(batchIndex) });
const ID = WAITING.id;
const SIGNED = 'AgAAAAAAAAAA';
const RESULT: ExecuteResult = {
  ...{ total: 2, totalSuccessful: 2, totalFailed: 0 },
  successfulExecutions: [{ bundleId: 'bundle-1', txHashes: ['sig-1', 'sig-2'] }],
};
const BROKEN: ExecuteResult = {
  ...{ total: 2, totalSuccessful: 1, totalFailed: 1, successfulExecutions: [] },
  ...{ failedOnTransactionIndex: 2, failedTxMsg: 'custom error 1' },
};

/** A service at which the batch waits until it is executed. */
function executing(result: ExecuteResult = RESULT): FakeService {
  const service = fakeService();
  let batch: Batch = WAITING;
  service.answer('getBatch', () => reply(batch));
  service.answer('executeBatch', () => {
    const status = result.totalFailed === 0 ? 'EXECUTED' : 'FAILED';
    batch = { ...WAITING, status, executeResult: result };
    return reply({ batchId: ID, result });
  });
  return service;
}

const cliWith = (options: TestCliOptions = {}): TestCli => testCli({ service: executing(), ...options });
const sent = ({ service }: TestCli) =>
  service.calls.flatMap(({ operation, input, call }) =>
    operation === 'executeBatch' ? [[input, call.idempotencyKey]] : [],
  );
const WORDS = ['batch', 'execute', ID];

describe('batch execute --signed-tx', () => {
  it('sends the approval under the key that was given, and prints the result as it is', async () => {
    const cli = cliWith();
    const { exit, stdout, stderr } = await cli.run(
      ...WORDS,
      '--signed-tx',
      SIGNED,
      '--idempotency-key',
      'mine',
    );
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify({ batchId: ID, result: RESULT })}\n`, '']);
    expect(sent(cli)).toEqual([[{ batchId: ID, signedTx: SIGNED }, 'mine']]);
    expect(await cli.pending()).toEqual([]);
  });

  it('takes what approve prints from a file or standard input', async () => {
    const printed = JSON.stringify({ batchId: ID, signedTx: SIGNED });
    for (const option of ['-', '@signed.json']) {
      const cli = cliWith({ stdin: ` ${SIGNED}\n` });
      writeFileSync(join(cli.home, 'signed.json'), printed);
      expect((await cli.run(...WORDS, '--signed-tx', option)).exit).toBe(0);
      expect(sent(cli)).toEqual([[{ batchId: ID, signedTx: SIGNED }, expect.any(String)]]);
    }
  });

  it('tells people that it is executed, and by which transactions', async () => {
    const { stdout } = await cliWith(READER).run(...WORDS, '--signed-tx', SIGNED);
    expect(stdout).toBe(
      `Batch ${ID} is executed.\ntransactions  2 of 2 executed\nbundle bundle-1\n  sig-1\n  sig-2\n`,
    );
  });

  it('prints the result of a batch that failed, and exits 10', async () => {
    const cli = cliWith({ service: executing(BROKEN) });
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--signed-tx', SIGNED);
    expect([exit, JSON.parse(stdout)]).toEqual([10, { batchId: ID, result: BROKEN }]);
    expect(complaint(stderr).message).toBe(
      `Batch ${ID} is FAILED: 1 of 2 transactions were executed; custom error 1.`,
    );
    const human = await testCli({ ...READER, service: executing(BROKEN) }).run(
      ...WORDS,
      '--signed-tx',
      SIGNED,
    );
    expect(human.stdout).toMatch(new RegExp(`^Batch ${ID} failed\\.\n`));
  });

  it('sends nothing again when it is done, here or by somebody else', async () => {
    const cli = cliWith();
    const first = await cli.run(...WORDS, '--signed-tx', SIGNED);
    const again = await cli.run(...WORDS, '--signed-tx', SIGNED);
    expect([again.exit, again.stdout, sent(cli).length]).toEqual([0, first.stdout, 1]);
    const elsewhere = testCli({ service: cli.service });
    const found = await elsewhere.run(...WORDS, '--signed-tx', SIGNED);
    expect([found.exit, found.stdout, sent(elsewhere).length]).toEqual([0, first.stdout, 1]);
    expect(JSON.parse(found.stderr).notice).toMatch(`Done before: batch ${ID} is EXECUTED since `);
  });

  it.each([
    ['ERR_INVALID_SIGNED_TX', 5, []],
    ['ERR_BATCH_NOT_FINALIZED', 5, []],
    ['ERR_OUTCOME_UNKNOWN', 7, ['execute open']],
  ] as const)('exits for %s with %i and leaves pending %j', async (code, exit, left) => {
    const cli = cliWith();
    cli.service.answer('executeBatch', () => refuse(code, 'It did not work.'));
    expect(await refusal(cli, ...WORDS, '--signed-tx', SIGNED)).toEqual([exit, code, 'It did not work.']);
    expect(await cli.pending()).toEqual(left);
  });

  it.each([
    [[...WORDS, '--signed-tx', 'no base64!'], 'ERR_INPUT_INVALID', '--signed-tx: '],
    [[...WORDS, '--signed-tx', '@none.json'], 'ERR_INPUT_INVALID', 'none.json: there is no such file.'],
    [
      [...WORDS, '--signed-tx', '{"signedTx":1}'],
      'ERR_INPUT_INVALID',
      'expected what `batch approve` prints',
    ],
    [
      [...WORDS, '--signed-tx', `{"batchId":"00000000-0000-4000-8000-000000000001","signedTx":"${SIGNED}"}`],
      'ERR_INPUT_INVALID',
      '--signed-tx: it is the approval of batch 00000000-0000-4000-8000-000000000001.',
    ],
    [
      [...WORDS, '--signed-tx', SIGNED, '--approval', 'a.json'],
      'ERR_USAGE',
      'Give either --signed-tx, or --approval',
    ],
    [
      [...WORDS, '--signed-tx', SIGNED, '--idempotency-key', ''],
      'ERR_USAGE',
      '--idempotency-key takes 1 to 255',
    ],
    [[...WORDS, '--approval', 'a.json'], 'ERR_KEYPAIR_INVALID', 'No keypair was given.'],
    [WORDS, 'ERR_USAGE', 'Give either --signed-tx, or --approval with --keypair.'],
    [['batch', 'execute', '1', '--signed-tx', SIGNED], 'ERR_INPUT_INVALID', 'A batch id is a UUID, got "1".'],
  ])('refuses %j and sends nothing', async (words, code, message) => {
    const cli = cliWith();
    expect(await refusal(cli, ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect([cli.service.calls, await cli.pending()]).toEqual([[], []]);
  });
});

describe('batch execute --approval', () => {
  /** In a world where the batch waits for its owner, who has the keypair at hand. */
  function cliIn(options: TestCliOptions = {}): TestCli {
    const world = honestWorld('token');
    const service = executing();
    const opened = { ...openedIn(world), kind: 'embedded', service: service.service } as const;
    const trusted = async () => world.flywheel;
    const cli = testCli({ ...options, service, opened: { ...opened, trusted } });
    approvalIn(cli.home, world);
    writeFileSync(join(cli.home, 'pipelines.json'), JSON.stringify(FILE));
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
    return cli;
  }
  const signing = [...WORDS, '--approval', 'approval.json', '--keypair', 'owner.json'];

  it('checks, asks, signs and sends in one go', async () => {
    const cli = cliIn(person('y'));
    const { exit, questions } = await cli.run(...signing);
    expect([exit, questions]).toEqual([0, [expect.stringContaining(`Sign the approval of batch ${ID} as `)]]);
    expect(sent(cli)).toEqual([[{ batchId: ID, signedTx: expect.any(String) }, expect.any(String)]]);
  });

  it('sends nothing after a no, and in a script without --expect', async () => {
    const declined = cliIn(person('n'));
    expect((await declined.run(...signing)).exit).toBe(130);
    const script = cliIn();
    expect((await refusal(script, ...signing, '--yes')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    expect([...sent(declined), ...sent(script)]).toEqual([]);
    const cli = cliIn();
    expect((await cli.run(...signing, '--yes', '--expect', 'pipelines.json')).exit).toBe(0);
    expect(sent(cli)).toHaveLength(1);
  });
});
