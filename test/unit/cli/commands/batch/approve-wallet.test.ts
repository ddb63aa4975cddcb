/** `batch approve --wallet` as an operation: what was signed is noted, sent, looked up, and never signed twice without need. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addSignature } from '../../../../../src/approval/build-approval.js';
import type { Pins } from '../../../../../src/approval/pins.js';
import type { ChainSender, SendOutcome } from '../../../../../src/chain/chain.js';
import type { Flywheel } from '../../../../../src/chain/flywheel.js';
import { createLocalSender } from '../../../../../src/chain/local/local-sender.js';
import { createSimulator } from '../../../../../src/chain/local/simulator.js';
import { transfer } from '../../../../../src/chain/system.js';
import { compileV0Message, signTransaction } from '../../../../../src/chain/transaction/compile.js';
import { readPins } from '../../../../../src/cli/batch/pins.js';
import type { OpenedService } from '../../../../../src/cli/context.js';
import { flywheelOf } from '../../../../../src/engine/batches/batch-context.js';
import { FlywheelError } from '../../../../../src/errors/flywheel-error.js';
import type { Address } from '../../../../../src/values/address.js';
import {
  aPipeline,
  burnAction,
  lamportsOf,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../../support/engine.js';
import { type TestCli, testCli } from '../../../../support/in-process.js';

let test: TestEngine;
let batchId: string;
let trusted: Flywheel;
let pins: Pins;
let sent: Uint8Array[];
let approval: Parameters<typeof signApproval>[1];

beforeEach(async () => {
  test = await openTestEngine();
  sent = [];
  approval = (await test.engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, test.project.call()))
    .value;
  batchId = approval.batch.id;
  trusted = await test.store.read(async (tx) => {
    const [token] = await tx.tokens.list();
    const flywheel = token && (await tx.flywheels.ofToken(token.id));
    if (token === undefined || flywheel === undefined) throw new TypeError('There is a flywheel.');
    return flywheelOf(token, flywheel);
  });
  pins = await readPins(test.chain, trusted);
});
afterEach(() => test.destroy());

/** Sends to the chain of the test, and keeps what was sent; `around` may come between. */
function senderWith(
  around: (send: () => Promise<SendOutcome>, count: number) => Promise<SendOutcome>,
): ChainSender {
  const real = createLocalSender(test.chain, { clock: { nowMs: () => 0 }, sleep: async () => undefined });
  return {
    submitAndConfirm: (wire, terms) => {
      sent.push(wire);
      return around(() => real.submitAndConfirm(wire, terms), sent.length);
    },
  };
}

/** A command line on the engine of the test, whose page is used by the owner as soon as it is there. */
function cliWith(
  around: Parameters<typeof senderWith>[0] = (send) => send(),
  opened: Partial<OpenedService> = {},
  home?: string,
): TestCli & { readonly pages: string[] } {
  const cli = testCli({
    ...(home === undefined ? {} : { home }),
    opened: {
      service: test.engine,
      credential: test.project.key,
      chain: test.chain,
      sender: senderWith(around),
      walletChain: async () => 'solana:localnet',
      trusted: async () => trusted,
      pins,
      simulator: async () => createSimulator(),
      ...opened,
    },
  });
  const pages: string[] = [];
  const { stderr } = cli.context.io;
  const write = stderr.write.bind(stderr);
  Object.assign(stderr, {
    write: (text: string) => {
      write(text);
      const url = /http:\/\/127\.0\.0\.1:\d+\/#[\w-]+/.exec(text)?.[0];
      if (url === undefined) return;
      pages.push(url);
      void signOn(new URL(url));
    },
  });
  return { ...cli, pages };
}

/** What the page does with a wallet that signs at once, until it is told that it is over. */
async function signOn({ origin, hash }: URL): Promise<void> {
  let token = hash.slice(1);
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { origin, 'content-type': 'application/json', 'x-flywheel-token': token };
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as Record<string, string>;
  };
  token = (await post('/open', {}))['secret'] ?? '';
  for (let state = 'again'; state === 'again'; ) {
    const { transaction = '' } = await post('/transaction', {});
    const wire = addSignature(Buffer.from(transaction, 'base64'), test.project.owner);
    state = (await post('/signed', { transaction: Buffer.from(wire).toString('base64') }))['state'] ?? '';
  }
}

const approve = (cli: TestCli) => cli.run('batch', 'approve', batchId, '--wallet');
const problemOf = (stderr: string): { error: string; message: string; hint: string } =>
  JSON.parse(stderr.trim().split('\n').at(-1) ?? '{}');
const execute = () => test.engine.executeBatch({ batchId } as never, test.project.call());

describe('batch approve --wallet', () => {
  it('sends what was signed, and prints the same when it is run again', async () => {
    const cli = cliWith();
    const first = await approve(cli);
    const { signature } = JSON.parse(first.stdout);
    expect([first.exit, JSON.parse(first.stdout)]).toEqual([0, { batchId, approved: true, signature }]);
    // What the page shows stands here as well, and nothing of what the wallet has not added.
    expect(first.stderr).toMatch(/^ *burn 1 token$[\s\S]*^ *digest +sha256:[0-9a-f]{64}$/m);
    expect(first.stderr).not.toContain('The wallet added');
    const again = await approve(cli);
    expect([again.exit, again.stdout]).toEqual([0, first.stdout]);
    expect([cli.pages.length, sent.length, await cli.pending()]).toEqual([1, 1, []]);
    expect((await execute()).value.result.totalSuccessful).toBe(1);
  });

  it.each([
    ['before it was sent', false],
    ['after it had landed', true],
  ])('finds what was signed when it broke off %s', async (_name, lands) => {
    const broken = cliWith(async (send) => {
      if (lands) await send();
      throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');
    });
    expect((await approve(broken)).exit).toBe(130);
    expect(await broken.pending()).toEqual(['approve open']);
    const cli = cliWith(undefined, {}, broken.home);
    const { exit, stdout } = await approve(cli);
    expect([exit, cli.pages.length, sent.length]).toEqual([0, 0, 2]);
    expect(sent[1]).toEqual(Buffer.from(sent[0] ?? []));
    expect(JSON.parse(stdout)).toMatchObject({ batchId, approved: true });
    expect(await cli.pending()).toEqual([]);
  });

  it('is resumed from the journal alone', async () => {
    const broken = cliWith(() => Promise.reject(new FlywheelError('ERR_UNAVAILABLE', 'Out of reach.')));
    const { exit, stderr } = await approve(broken);
    expect(exit).toBe(6);
    const words = /This resumes safely: flywheel (.*)$/.exec(problemOf(stderr).hint)?.[1] ?? '';
    const cli = cliWith(undefined, {}, broken.home);
    expect(await cli.run(...words.split(' '))).toMatchObject({ exit: 0 });
    expect(cli.pages).toEqual([]);
  });

  it('has it signed once more when it expired, on the same page', async () => {
    const cli = cliWith((send, count) =>
      count === 1 ? Promise.resolve({ kind: 'expired', rejection: null } as const) : send(),
    );
    expect((await approve(cli)).exit).toBe(0);
    expect([cli.pages.length, sent.length]).toEqual([1, 2]);
  });

  it('says what failed on chain, and leaves nothing open', async () => {
    const record = { error: { kind: 'instruction', index: 0, custom: 6_012 } } as never;
    const cli = cliWith(async () => ({ kind: 'failed', record }));
    const { exit, stderr } = await approve(cli);
    expect([exit, problemOf(stderr).error]).toEqual([1, 'ERR_BATCH_EXECUTE_FAILED']);
    expect(problemOf(stderr).message).toContain('failed on chain: error 6012');
    expect(await cli.pending()).toEqual([]);
  });

  it('keeps what is not known to have landed', async () => {
    const problem = new FlywheelError('ERR_UNAVAILABLE', 'The node does not answer.');
    const cli = cliWith(async () => ({ kind: 'unknown', rejection: null, problem }));
    const { exit, stderr } = await approve(cli);
    expect([exit, problemOf(stderr).error]).toEqual([7, 'ERR_OUTCOME_UNKNOWN']);
    expect(problemOf(stderr).message).toContain('The node does not answer.');
    expect(await cli.pending()).toEqual(['approve open']);
  });

  it('opens no page for a batch that the owner has approved', async () => {
    await test.chain.submit([Buffer.from(signApproval(test.project.owner, approval), 'base64')]);
    const cli = cliWith();
    const { exit, stdout } = await approve(cli);
    expect([exit, JSON.parse(stdout), cli.pages]).toEqual([0, { batchId, alreadyApproved: true }, []]);
  });

  it('opens no page where the owner cannot pay', async () => {
    const { owner } = test.project;
    const { blockhash } = await test.chain.latestBlockhash();
    const lamports = (await lamportsOf(test.chain, owner.address)) - 5_000n;
    const everything = transfer({ from: owner.address, to: trusted.operator as Address, lamports });
    const message = compileV0Message({ payer: owner.address, instructions: [everything], blockhash });
    expect(await test.chain.submit([signTransaction(message, [owner]).bytes])).toEqual([null]);
    const cli = cliWith();
    const { exit, stderr } = await approve(cli);
    expect([exit, problemOf(stderr).error, cli.pages]).toEqual([5, 'ERR_INSUFFICIENT_FUNDS', []]);
    expect(await cli.pending()).toEqual([]);
  });

  it('opens no page where the service executes only what it is sent', async () => {
    const service = {
      ...test.engine,
      issueApproval: () => Promise.reject(new FlywheelError('ERR_NOT_FOUND', 'There is nothing here.')),
    };
    const cli = cliWith(undefined, { service });
    const { exit, stderr } = await approve(cli);
    expect([exit, problemOf(stderr).error, cli.pages]).toEqual([5, 'ERR_NOT_FOUND', []]);
    expect(problemOf(stderr).hint).toContain('--keypair');
  });

  it.each([
    ['no chain', { chain: null }],
    ['no way to send', { sender: null }],
    ['nothing pinned', { pins: null }],
    ['another multisig pinned', { pins: { multisig: 'other', facts: {} } as never }],
  ])('refuses with %s', async (_name, opened) => {
    const cli = cliWith(undefined, opened);
    const { exit, stderr } = await approve(cli);
    expect([exit, problemOf(stderr).error, cli.pages]).toEqual([9, 'ERR_APPROVAL_REFUSED', []]);
    expect(await cli.pending()).toEqual([]);
  });

  it.each([['--keypair', 'owner.json'], ['--out', 'signed.json'], ['--allow-unverified']])(
    'cannot be combined with %s',
    async (...words) => {
      const { exit } = await cliWith().run('batch', 'approve', batchId, '--wallet', ...words);
      expect(exit).toBe(2);
    },
  );
});

describe('batch execute without a signed approval', () => {
  it('is refused until the approval stands on chain', async () => {
    const cli = cliWith();
    const early = await cli.run('batch', 'execute', batchId);
    expect([early.exit, problemOf(early.stderr).error]).toEqual([2, 'ERR_USAGE']);
    expect((await approve(cli)).exit).toBe(0);
    const { exit, stdout } = await cli.run('batch', 'execute', batchId);
    expect([exit, JSON.parse(stdout).result.totalSuccessful]).toEqual([0, 1]);
    expect(await cli.pending()).toEqual([]);
  });
});

describe('the limits of an owner who signs in a wallet', () => {
  /** Approves with these limits. */
  const approveWithin = (cli: TestCli, limits: object, ...words: readonly string[]) => {
    writeFileSync(join(cli.home, 'pins.json'), JSON.stringify({ ...pins, limits }));
    return cli.run('batch', 'approve', batchId, '--wallet', '--pins', 'pins.json', ...words);
  };

  it.each([
    ['of a batch', { batchTokens: '0.5' }, '0.5 tokens a batch, and this one takes 1.'],
    ['of a day', { dayTokens: '0.5' }, '0.5 tokens a day; this batch takes 1, and 0 of'],
    ['in percent of the supply', { supplyPercent: '0.00000001' }, '% of the supply a batch'],
  ])('hold before anything is served: %s', async (_name, limits, reason) => {
    const cli = cliWith();
    const { exit, stderr } = await approveWithin(cli, limits);
    expect([exit, problemOf(stderr).message]).toEqual([9, expect.stringContaining(reason)]);
    expect([cli.pages, sent]).toEqual([[], []]);
  });

  it('count what a wallet has signed, with everything else of the day', async () => {
    const cli = cliWith();
    expect((await approveWithin(cli, { dayTokens: '1.5' })).exit).toBe(0);
    await execute();
    const next = await test.engine.initBatch(
      { pipelines: [aPipeline([burnAction(1)])] },
      test.project.call(),
    );
    batchId = next.value.batch.id;
    const { exit, stderr } = await approveWithin(cli, { dayTokens: '1.5' });
    expect([exit, problemOf(stderr).message]).toEqual([9, expect.stringContaining('takes 1, and 1 of')]);
    expect([cli.pages.length, sent.length]).toEqual([1, 1]);
  });

  it('let nobody agree to a large batch without its digest', async () => {
    const cli = cliWith();
    const large = { digestAbove: '0.5' };
    expect((await approveWithin(cli, large, '--yes')).exit).toBe(9);
    expect((await approveWithin(cli, large)).exit).toBe(2);
    expect([cli.pages, sent]).toEqual([[], []]);
  });
});
