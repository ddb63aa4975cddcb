/** `flywheel batch run`: one operation from a file to its outcome; nothing is signed without a yes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../../src/chain/transaction/signer.js';
import type { Batch, ExecuteResult, InitBatchResult } from '../../../../../src/contract/schemas/batch.js';
import { FILE, honestWorld, openedIn, pinsOf } from '../../../../support/approval-world.js';
import { batchIndex, multisig, ownerKeypair } from '../../../../support/batch-on-chain.js';
import { aBatch, complaint, person, refusal, refuse, reply } from '../../../../support/commands.js';
import { exampleReply, type FakeService, fakeService } from '../../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { unwrapped } from '../../../../support/spawn.js';

const world = honestWorld('token');
const WAITING = aBatch({ multisig, batchIndex: String(batchIndex) });
const ID = WAITING.id;
const { pipelines } = (exampleReply('initBatch').value as InitBatchResult).batch;
const proposalApproveTx = Buffer.from(world.wire).toString('base64');
const resultOf = (totalSuccessful: number): ExecuteResult => ({
  ...{ total: 3, totalSuccessful, totalFailed: 3 - totalSuccessful, successfulExecutions: [] },
  ...(totalSuccessful === 3
    ? {}
    : { failedOnTransactionIndex: totalSuccessful + 1, failedTxMsg: 'custom error 1' }),
});

/** A service that sets the batch up and executes so many of its pipelines. */
function running(totalSuccessful: number): FakeService {
  const service = fakeService();
  let batch: Batch = WAITING;
  service.answer('initBatch', () => reply({ proposalApproveTx, batch: { ...WAITING, pipelines } }));
  service.answer('issueApproval', () => reply({ proposalApproveTx, batch: { ...WAITING, pipelines } }));
  service.answer('getBatch', () => reply(batch));
  service.answer('executeBatch', () => {
    const result = resultOf(totalSuccessful);
    batch = { ...WAITING, status: totalSuccessful === 3 ? 'EXECUTED' : 'FAILED', executeResult: result };
    return reply({ batchId: ID, result });
  });
  service.answer('batchPipelines', () => {
    const items = FILE.map((_, index) => ({
      index,
      state: index < totalSuccessful ? 'EXECUTED' : 'NOT_EXECUTED',
    }));
    return reply({ items, nextCursor: null });
  });
  return service;
}

/** A command line in an honest world, with the file and the keypair. */
function cliWith(options: TestCliOptions = {}, service = running(3)): TestCli {
  const opened = { ...openedIn(world), kind: 'embedded', service: service.service } as const;
  const cli = testCli({ ...options, service, opened: { ...opened, trusted: async () => world.flywheel } });
  writeFileSync(join(cli.home, 'p.json'), JSON.stringify(FILE));
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli;
}

const acted = ({ service }: TestCli) =>
  service.calls.map(({ operation }) => operation).filter((operation) => /^(init|execute)/.test(operation));
const WORDS = ['batch', 'run', 'p.json', '--keypair', 'owner.json'];

describe('batch run', () => {
  it('sets up, signs and executes with --yes, and prints batch and result', async () => {
    const cli = cliWith();
    const { exit, stdout, stderr, questions } = await cli.run(...WORDS, '--yes');
    const batch = { ...WAITING, status: 'EXECUTED', executeResult: resultOf(3) };
    expect([exit, stderr, questions]).toEqual([0, '', []]);
    expect(stdout).toBe(`${JSON.stringify({ batch, result: resultOf(3) })}\n`);
    expect(acted(cli)).toEqual(['initBatch', 'executeBatch']);
    expect(await cli.pending()).toEqual([]);
  });

  it('asks the owner on a terminal before it signs', async () => {
    const cli = cliWith(person('y'));
    const { exit, stdout, questions } = await cli.run(...WORDS);
    expect([exit, questions]).toEqual([0, [expect.stringContaining(`Sign the approval of batch ${ID} as `)]]);
    expect(stdout).toContain(`Batch ${ID} EXECUTED`);
  });

  it('leaves after a no a batch that waits, and says how to go on and how to end it', async () => {
    const cli = cliWith(person('n'));
    const { exit, stdout, stderr: shown } = await cli.run(...WORDS);
    const stderr = unwrapped(shown);
    expect([exit, stdout, acted(cli)]).toEqual([130, '', ['initBatch']]);
    expect(stderr).toContain(`Batch ${ID} stays set up and waits for an approval.`);
    expect(stderr).toContain('To go on: `flywheel pending resume ');
    expect(stderr).toContain(
      `To end it: \`flywheel batch cancel ${ID} --keypair ${join(cli.home, 'owner.json')}\`.`,
    );
  });

  it('prints what failed, exits 10, and writes what did not land as a file that can be run', async () => {
    const cli = cliWith({}, running(1));
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--yes', '--failed-out', 'left.json');
    expect([exit, JSON.parse(stdout).result]).toEqual([10, resultOf(1)]);
    expect(complaint(stderr)).toMatchObject({
      error: 'ERR_BATCH_FAILED',
      message: `Batch ${ID} is FAILED: 1 of 3 transactions were executed; custom error 1.`,
    });
    const left = JSON.parse(readFileSync(join(cli.home, 'left.json'), 'utf8'));
    expect(left.pipelines.map(({ payload }: { payload: string }) => JSON.parse(payload))).toEqual(
      FILE.slice(1).map(({ payload }) => payload),
    );
  });

  it('prints the same again and does nothing more', async () => {
    const cli = cliWith();
    const first = await cli.run(...WORDS, '--yes');
    const again = await cli.run(...WORDS, '--yes');
    expect([again.exit, again.stdout, acted(cli)]).toEqual([0, first.stdout, ['initBatch', 'executeBatch']]);
    expect(JSON.parse(again.stderr).notice).toContain('Done before, on');
  });

  it.each([
    ['initBatch', 'ERR_INSUFFICIENT_FUNDS', 5, []],
    ['initBatch', 'ERR_OUTCOME_UNKNOWN', 7, ['batch open']],
    ['executeBatch', 'ERR_OUTCOME_UNKNOWN', 7, ['batch open']],
  ] as const)('exits when %s says %s with %i and leaves pending %j', async (operation, code, exit, left) => {
    const cli = cliWith();
    cli.service.answer(operation, () => refuse(code, 'It did not work.'));
    expect(await refusal(cli, ...WORDS, '--yes')).toEqual([exit, code, 'It did not work.']);
    expect(await cli.pending()).toEqual(left);
  });

  it('sets nothing up that the owner could not approve', async () => {
    const cli = cliWith();
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...generateKeypair()]), { mode: 0o600 });
    const [exit, code] = await refusal(cli, ...WORDS, '--yes');
    expect([exit, code, acted(cli)]).toEqual([9, 'ERR_APPROVAL_REFUSED', []]);
  });

  it('sets nothing up where no chain can show what it would approve, whatever may go unverified', async () => {
    const cli = cliWith({}, running(3));
    const blind = testCli({
      ...{ home: cli.home, service: cli.service },
      opened: { service: cli.service.service, pins: pinsOf(world), chain: null },
    });
    for (const flags of [[], ['--allow-unverified']]) {
      const [exit, code, message] = await refusal(blind, ...WORDS, '--yes', ...flags);
      expect([exit, code, acted(cli)]).toEqual([9, 'ERR_APPROVAL_REFUSED', []]);
      expect(message).toContain('No chain can be read');
    }
  });

  it('adds up with --dry-run, and needs neither --yes nor a keypair for that', async () => {
    const cli = cliWith();
    const { exit, stdout } = await cli.run(
      'batch',
      'run',
      'p.json',
      '--dry-run',
      '--failed-out',
      'left.json',
    );
    expect([exit, JSON.parse(stdout)]).toMatchObject([
      0,
      { dryRun: true, pipelines: 3, totalBurn: '12345679.5', totalAirdrop: '2.000001', foreseen: null },
    ]);
    expect([cli.service.calls, existsSync(join(cli.home, 'left.json'))]).toEqual([[], false]);
  });

  it.each([
    [WORDS, 'ERR_USAGE', 'Without a terminal `batch run` needs --yes; nothing was sent.'],
    [
      [...WORDS, '--yes', '--rest', '--again'],
      'ERR_USAGE',
      '--again, --rest and --only-new exclude each other.',
    ],
    [[...WORDS, '--yes', '--rest'], 'ERR_INPUT_INVALID', 'there is no rest.'],
    [[...WORDS, '--yes', '--failed-out', 'no/such/f.json'], 'ERR_INPUT_INVALID', 'no/such'],
    [['batch', 'run', 'p.json', '--yes'], 'ERR_KEYPAIR_INVALID', 'No keypair was given.'],
    [['batch', 'run', 'owner.json', '--yes'], 'ERR_INPUT_INVALID', 'owner.json: '],
    [[...WORDS, '--yes', '--expect', 'p.json'], 'ERR_USAGE', "Unknown option '--expect'"],
  ])('refuses %j and sends nothing', async (words, code, message) => {
    const cli = cliWith();
    expect(await refusal(cli, ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect([acted(cli), await cli.pending()]).toEqual([[], []]);
  });
});
