/** `batch approve --wallet`: sends what the wallet signed, and does not ask for a second signature of a vote on chain. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Pins } from '../../../../../src/approval/pins.js';
import type { Flywheel } from '../../../../../src/chain/chain.js';
import { createSimulator } from '../../../../../src/chain/local/simulator.js';
import { type ChainSender, createSender } from '../../../../../src/chain/send.js';
import { addSignature } from '../../../../../src/chain/transaction/sign.js';
import { readPins } from '../../../../../src/cli/batch/pins.js';
import type { OpenedService } from '../../../../../src/cli/context.js';
import { flywheelOf } from '../../../../../src/engine/batches/batch-context.js';
import { FlywheelError } from '../../../../../src/errors/flywheel-error.js';
import {
  aPipeline,
  burnAction,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../../support/engine.js';
import { type TestCli, testCli } from '../../../../support/in-process.js';
import { pageIn, signOn } from '../../../../support/wallet-page.js';
import { refusal } from '../../single-command.js';

let test: TestEngine;
let batchId: string;
let trusted: Flywheel;
let pins: Pins;
let sent: Uint8Array[];
let approval: Parameters<typeof signApproval>[1];

const initiate = async () =>
  (await test.engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, test.project.call())).value;

beforeAll(async () => {
  test = await openTestEngine();
  approval = await initiate();
  trusted = await test.store.read(async (tx) => {
    const [project] = await tx.projects.list();
    if (project === undefined) throw new TypeError('There is a project.');
    return flywheelOf(project);
  });
  pins = await readPins(test.chain, trusted);
});
beforeEach(async () => {
  sent = [];
  batchId = approval.batch.id;
});
/** Executes the approved batch and sets up another one. */
async function next(): Promise<void> {
  await test.engine.executeBatch({ batchId } as never, test.project.call());
  approval = await initiate();
  batchId = approval.batch.id;
}
afterAll(() => test.destroy());

type Sent = ReturnType<ChainSender>;
type Around = (send: () => Sent, count: number) => Sent;

/** A command line on the test's engine, whose page the owner uses as soon as it appears; `around` wraps the sending. */
function cliWith(around: Around = (send) => send(), opened: Partial<OpenedService> = {}) {
  const real = createSender(test.chain, { clock: { nowMs: () => 0 }, sleep: async () => undefined });
  const sender: ChainSender = (wire, terms) => {
    sent.push(wire);
    return around(() => real(wire, terms), sent.length);
  };
  const cli = testCli({
    opened: {
      ...{ service: test.engine, credential: test.project.key, chain: test.chain, sender, pins },
      ...{ walletChain: async () => 'solana:localnet', trusted: async () => trusted },
      ...{ simulator: async () => createSimulator(), ...opened },
    },
  });
  const pages: string[] = [];
  const { stderr } = cli.context.io;
  const write = stderr.write.bind(stderr);
  Object.assign(stderr, {
    write: (text: string) => {
      write(text);
      const url = pageIn(text);
      if (url === undefined) return;
      pages.push(url);
      void signOn(url, (wire) => addSignature(wire, test.project.owner));
    },
  });
  return { ...cli, pages };
}

const words = (...more: readonly string[]) => ['batch', 'approve', batchId, '--wallet', ...more];
const approve = (cli: TestCli) => cli.run(...words());

describe('batch approve --wallet', () => {
  it('sends what was signed once, after which the batch can be executed without a signed approval', async () => {
    const cli = cliWith();
    expect((await refusal(cli, 'batch', 'execute', batchId)).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    const first = await approve(cli);
    expect([first.exit, JSON.parse(first.stdout)]).toMatchObject([0, { batchId, approved: true }]);
    expect(first.stderr).toMatch(/sha256:[0-9a-f]{64}/);
    const again = await approve(cli);
    expect([again.exit, JSON.parse(again.stdout)]).toEqual([0, { batchId, alreadyApproved: true }]);
    expect([cli.pages.length, sent.length, await cli.pending()]).toEqual([1, 1, []]);
    const { exit, stdout } = await cli.run('batch', 'execute', batchId);
    expect([exit, JSON.parse(stdout).result.totalSuccessful]).toEqual([0, 1]);
    approval = await initiate();
  });

  it('has it signed once more when it expired, on the same page', async () => {
    const expired = { kind: 'never', rejection: null, problem: null } as const;
    const cli = cliWith((send, count) => (count === 1 ? Promise.resolve(expired) : send()));
    expect([(await approve(cli)).exit, cli.pages.length, sent.length]).toEqual([0, 1, 2]);
    await next();
  });

  it('says what failed on chain, and what is not known to have landed is found by the same command', async () => {
    const record = { error: { kind: 'instruction', index: 0, custom: 6_012 } } as never;
    const failed = cliWith(async () => ({
      ...{ kind: 'landed', record, isFinal: true, rejection: null, problem: null },
    }));
    expect(await refusal(failed, ...words())).toEqual([
      ...[1, 'ERR_BATCH_EXECUTE_FAILED', expect.stringContaining('6012')],
    ]);
    const problem = new FlywheelError('ERR_UNAVAILABLE', 'The node does not answer.');
    const unknown = cliWith(async (send) => {
      await send();
      return { kind: 'open', rejection: null, problem };
    });
    expect(await refusal(unknown, ...words())).toEqual([
      ...[7, 'ERR_OUTCOME_UNKNOWN', expect.stringContaining('The node does not answer.')],
    ]);
    expect(JSON.parse((await approve(unknown)).stdout)).toEqual({ batchId, alreadyApproved: true });
    await next();
  });

  it('opens no page where nothing can be verified, sent or answered for, nor for what has been approved', async () => {
    const issueApproval = () => Promise.reject(new FlywheelError('ERR_NOT_FOUND', 'There is nothing here.'));
    for (const [opened, exit, code] of [
      [{ chain: null }, 9, 'ERR_APPROVAL_REFUSED'],
      [{ sender: null }, 9, 'ERR_APPROVAL_REFUSED'],
      [{ pins: null }, 9, 'ERR_APPROVAL_REFUSED'],
      [{ pins: { multisig: 'other', facts: {} } as never }, 9, 'ERR_APPROVAL_REFUSED'],
      [{ service: { ...test.engine, issueApproval } }, 5, 'ERR_NOT_FOUND'],
    ] as const) {
      const cli = cliWith(undefined, opened);
      expect((await refusal(cli, ...words())).slice(0, 2)).toEqual([exit, code]);
      expect([cli.pages, await cli.pending()]).toEqual([[], []]);
    }
    await test.chain.submit([Buffer.from(signApproval(test.project.owner, approval), 'base64')]);
    const cli = cliWith();
    const { exit, stdout } = await approve(cli);
    expect([exit, JSON.parse(stdout), cli.pages]).toEqual([0, { batchId, alreadyApproved: true }, []]);
    await next();
  });

  it('keeps to the limits of the owner before anything is served, and counts what a wallet has signed', async () => {
    const cli = cliWith();
    const within = (limits: object, ...more: string[]) => {
      writeFileSync(join(cli.home, 'pins.json'), JSON.stringify({ ...pins, limits }));
      return cli.run(...words('--pins', 'pins.json', ...more));
    };
    for (const limits of [{ batchTokens: '0.5' }, { dayTokens: '0.5' }]) {
      const { exit, stderr } = await within(limits);
      expect([exit, stderr]).toEqual([9, expect.stringContaining(Object.values(limits)[0] ?? '')]);
    }
    // A large batch requires its digest.
    expect((await within({ digestAbove: '0.5' }, '--yes')).exit).toBe(9);
    expect((await within({ digestAbove: '0.5' })).exit).toBe(2);
    expect([cli.pages, sent]).toEqual([[], []]);
    expect((await within({ dayTokens: '1.5' })).exit).toBe(0);
    await next();
    expect((await within({ dayTokens: '1.5' })).exit).toBe(9);
    expect([cli.pages.length, sent.length]).toEqual([1, 1]);
  });
});
