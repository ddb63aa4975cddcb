/** Batches that fail, wait or are cancelled: the rest of each is executed once, or never. */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { passBlocks } from '../support/engine.js';
import { letGo, serveHere } from '../support/flywheel-here.js';
import { ask } from '../support/http-serve.js';
import { itLong, sampleOf } from '../support/long.js';
import { rpcResult } from '../support/rpc-call.js';
import { BIN, emptyDirectory, type Spawned } from '../support/spawn.js';
import { declineOn, signerOf, signOn, withPage } from '../support/wallet-page.js';
import { failedInPart, initiated, pipelinesOf } from './deeds.js';
import type { Fate } from './gate.js';
import { anOperator, expectProblem, gateOf, type Operator, problemOf } from './operator.js';
import { onTerminal } from './terminal.js';

const INIT = ['--vault-tokens', '10', '--burn-wallet-tokens', '100', '--daily-burn', '30'];

const pipeline = (name: string, index: number, amount: number) => ({
  type: 'WATCH_AD',
  payload: { name, index },
  actions: [{ action: 'BURN', amount }],
});
/** Ten tokens: four pipelines fit into one bundle, two into another. */
const TEN = [1, 1, 1, 1, 5, 1].map((amount, index) => pipeline('ten', index, amount));
const THREE = pipelinesOf('three');

const run = (operator: Operator, file: string, ...more: readonly string[]): Promise<Spawned> =>
  operator.run(...['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json'], ...more);
const fund = (operator: Operator, tokens: string): Promise<Spawned> =>
  operator.run('local', 'fund', '--to', 'vault', '--tokens', tokens);
const cancel = (operator: Operator, id: string): Promise<Spawned> =>
  operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes', '--json');

/** The home of an operator whose batch failed after four pipelines, because the vault was emptied meanwhile. */
let failure: { readonly template: Operator['template']; readonly failed: string; readonly left: unknown };
beforeAll(async () => {
  const operator = await anOperator('embedded', INIT);
  const failed = await failedInPart(operator, operator.write('ten.json', TEN), '--failed-out', 'left.json');
  expectProblem(await run(operator, 'ten.json'), 10, { error: 'ERR_BATCH_FAILED' });
  const left = JSON.parse(readFileSync(join(operator.directory, 'left.json'), 'utf8'));
  await letGo(operator.directory);
  failure = { template: { ...operator.template, dataDir: operator.dataDir }, failed, left };
});
async function afterFailure(): Promise<{ operator: Operator; failed: string }> {
  const operator = await anOperator('embedded', failure.template);
  operator.write('ten.json', TEN);
  operator.write('left.json', failure.left);
  return { operator, failed: failure.failed };
}

describe('a batch that failed', () => {
  it('keeps what it holds of the cap until its rest is done, and that is done once', async () => {
    const { operator, failed } = await afterFailure();
    // 7 tokens landed and 6 may still land: 17 of the cap of 30 are left.
    const wallet = ['burn', '--type', 'WATCH_AD', '--proof', '{"cap":1}', '--amount'];
    expect(problemOf(await operator.run(...wallet, '17.5')).error).toBe('ERR_DAILY_LIMIT_EXCEEDED');
    const same = await run(operator, 'ten.json');
    expect([same.exit, JSON.parse(same.stdout).batch.id]).toEqual([10, failed]);
    const again = await run(operator, 'ten.json', '--again');
    expect([again.exit, problemOf(again).message]).toEqual([2, expect.stringMatching('has landed in part')]);
    // The vault cannot pay the rest: that is refused, and its outcome is known.
    expectProblem(await run(operator, 'ten.json', '--rest'), 5, { error: 'ERR_INSUFFICIENT_FUNDS' });
    expect(await operator.happened()).toMatchObject({ burned: '7' });
    await fund(operator, '3');
    const rest = await run(operator, 'ten.json', '--rest');
    expect([rest.exit, JSON.parse(rest.stdout).result.total]).toEqual([0, 2]);
    for (const more of [[], ['--rest']]) {
      const repeated = await run(operator, 'ten.json', ...more);
      expect([repeated.exit, JSON.parse(repeated.stdout)]).toEqual([0, JSON.parse(rest.stdout)]);
    }
    expect(await operator.happened()).toMatchObject({
      burned: '13',
      usedToday: { burn: '13' },
      batches: ['CANCELLED', 'EXECUTED', 'EXECUTED'],
    });
    expect(await operator.pending()).toEqual([]);
  });

  it('lets no other file do what is left of it, until it is cancelled', async () => {
    const { operator, failed } = await afterFailure();
    await fund(operator, '10');
    const refused = await run(operator, 'left.json');
    expect([refused.exit, problemOf(refused).message]).toEqual([
      2,
      '2 of 2 pipelines belong to an unfinished operation. Nothing was sent.',
    ]);
    const { hint = '' } = problemOf(refused);
    const [line = ''] = /flywheel batch cancel [^`]*/.exec(hint) ?? [];
    expect(line).toMatch(new RegExp(`^flywheel batch cancel ${failed} .*--yes$`));
    const cancelled = await operator.paste(`FLYWHEEL_KEYPAIR=${operator.owner} ${line}`);
    expect([cancelled.exit, JSON.parse(cancelled.stdout).status]).toEqual([0, 'FAILED']);
    expect((await run(operator, 'left.json')).exit).toBe(0);
    // The rest of the first file landed with the other batch and must not run again.
    const rest = await run(operator, 'ten.json', '--rest');
    expect([rest.exit, JSON.parse(rest.stdout)]).toEqual([0, { skipped: 6 }]);
    expect(await operator.happened()).toMatchObject({
      burned: '13',
      batches: ['CANCELLED', 'EXECUTED', 'EXECUTED'],
    });
  });

  it('is written as a file by execute and by init too, as far as it has not landed', async () => {
    const operator = await anOperator('embedded', INIT);
    const place = emptyDirectory();
    operator.write('ten.json', TEN);
    const { digest } = JSON.parse(
      (await operator.run('batch', 'init', 'ten.json', '--dry-run', '--json')).stdout,
    );
    const init = await operator.run(
      'batch',
      'init',
      'ten.json',
      '--json',
      '--failed-out',
      join(place, 'waits.json'),
    );
    const { id } = JSON.parse(init.stdout).batch;
    const file = (name: string) => JSON.parse(readFileSync(join(place, name), 'utf8')).pipelines;
    expect(existsSync(join(place, 'waits.json'))).toBe(false);
    const sign = ['--keypair', operator.owner, '--yes', '--expect', digest];
    await operator.run('batch', 'approve', id, ...sign, '--out', join(place, 'signed.json'));
    expect((await run(operator, operator.write('three.json', THREE))).exit).toBe(0);
    const signed = ['--signed-tx', `@${join(place, 'signed.json')}`];
    const execute = ['batch', 'execute', id, ...signed, '--expect', digest, '--json'];
    expectProblem(await operator.run(...execute, '--failed-out', join(place, 'left.json')), 10, {
      error: 'ERR_BATCH_FAILED',
    });
    expectProblem(await operator.run('batch', 'execute', id, ...signed, '--expect', 'three.json'), 9, {
      error: 'ERR_APPROVAL_REFUSED',
    });
    const left = TEN.slice(4).map((one) => ({
      ...one,
      payload: JSON.stringify({ index: one.payload.index, name: 'ten' }),
    }));
    expect(file('left.json')).toEqual(left);
    // Repeats return the same result, also from a file without the journal, and from init.
    await operator.run(...execute, '--failed-out', join(place, 'again.json'));
    await operator.run(...execute, '--failed-out', join(place, 'expected.json'), '--expect', 'ten.json');
    const same = await operator.run('batch', 'init', 'ten.json', '--failed-out', join(place, 'init.json'));
    expect(same.exit).toBe(10);
    expect(['again.json', 'expected.json', 'init.json'].map(file)).toEqual([left, left, left]);
    const unknown = await operator.run(
      'batch',
      'execute',
      '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11',
      '--failed-out',
      join(place, 'u.json'),
      ...execute.slice(3),
    );
    expect([unknown.exit, existsSync(join(place, 'u.json'))]).toEqual([2, false]);
  });

  it('is told with its own exit by `pending resume` too, after it failed and after it was cancelled', async () => {
    const { operator, failed } = await afterFailure();
    const resume = () =>
      operator.run('pending', 'resume', failed, '--keypair', operator.owner, '--yes', '--json');
    expect([(await resume()).exit, (await cancel(operator, failed)).exit]).toEqual([10, 0]);
    expectProblem(await resume(), 10, { error: 'ERR_BATCH_FAILED' });
    expect(await operator.happened()).toMatchObject({ burned: '7', batches: ['CANCELLED', 'EXECUTED'] });
  });

  it('is not taken for the one that came after it', async () => {
    const { operator, failed } = await afterFailure();
    await fund(operator, '10');
    const rest = await operator.run('batch', 'cancel', failed, '--keypair', operator.owner, '--yes');
    expect(rest.exit).toBe(0);
    const init = await operator.run('batch', 'init', 'ten.json', '--rest', '--json');
    const { id } = JSON.parse(init.stdout).batch;
    expect((await cancel(operator, failed)).exit).toBe(0);
    const words = ['--approval', failed, '--keypair', operator.owner, '--yes', '--expect', 'ten.json'];
    expect((await operator.run('batch', 'execute', failed, ...words)).exit).toBe(10);
    const ran = await run(operator, 'ten.json');
    expect([ran.exit, JSON.parse(ran.stdout).batch.id]).toEqual([0, id]);
    expect(await operator.happened()).toMatchObject({ burned: '13' });
  });
});

describe('the line that is printed', () => {
  const same = (count: number) => Array.from({ length: count }, () => pipeline('same', 0, 1));
  /** Its refusal, which is also that of the dry run, and leaves no batch. */
  const refusedRest = async (operator: Operator, file: string): Promise<Spawned> => {
    const before = await operator.happened();
    const foreseen = await run(operator, file, '--rest', '--dry-run');
    const refused = await run(operator, file, '--rest');
    expect([refused.exit, problemOf(refused)]).toMatchObject([2, problemOf(foreseen)]);
    expect(await operator.happened()).toEqual(before);
    return refused;
  };
  const burned = async (operator: Operator): Promise<string> => (await operator.happened()).burned;

  it('where a rest has proofs that were paid leads to a file of the rest alone', async () => {
    const operator = await anOperator('embedded', INIT);
    expect((await run(operator, operator.write('two.json', same(2)))).exit).toBe(0);
    const refused = await refusedRest(operator, operator.write('three.json', same(3)));
    expect(problemOf(refused)).toMatchObject({
      message: expect.stringMatching(/, pipeline 3 on .* No batch was set up/),
      hint: expect.stringMatching(/new file .*--again/),
    });
    expect((await run(operator, operator.write('one.json', same(1)), '--again')).exit).toBe(0);
    expect(await burned(operator)).toBe('3');
  });

  it('where a rest has a proof of a batch that others cancelled notes that it is over', async () => {
    const operator = await anOperator('embedded', INIT);
    const { dataDir, directory, key, owner } = operator;
    const [file, paid] = [operator.write('three.json', THREE), operator.write('paid.json', TEN.slice(0, 4))];
    const asked = async (path: string, body: object): Promise<{ batch: { id: string } }> => {
      const server = await serveHere({ home: directory, dataDir });
      const answer = await ask(`${server.url}/v1/flywheel/batch/${path}`, key, { body });
      await server.end('SIGTERM');
      expect(answer.status).toBe(200);
      return answer.json() as Promise<{ batch: { id: string } }>;
    };
    const pipelines = THREE.map((one) => ({ ...one, payload: JSON.stringify(one.payload) }));
    const { id } = (await asked('init', { pipelines })).batch;
    const sign = ['--keypair', owner, '--expect', file, '--yes'];
    expect((await operator.run('batch', 'approve', id, ...sign)).exit).toBe(0);
    await asked(`${id}/cancel`, {});
    expect((await run(operator, paid)).exit).toBe(0);
    const both = operator.write('both.json', [...THREE.slice(2), ...TEN.slice(0, 4)]);
    const refused = await refusedRest(operator, both);
    const [, line = ''] = /`(flywheel batch cancel [^`]*)`/.exec(problemOf(refused).hint ?? '') ?? [];
    expect((await operator.paste(line)).exit).toBe(0);
    expect((await run(operator, both, '--rest')).exit).toBe(0);
    expect(await burned(operator)).toBe('5');
  });

  it('where a rest was cancelled runs the rest alone', async () => {
    const { operator, failed } = await afterFailure();
    await fund(operator, '10');
    expect((await cancel(operator, failed)).exit).toBe(0);
    const init = await operator.run('batch', 'init', 'ten.json', '--rest', '--json');
    const { id } = JSON.parse(init.stdout).batch;
    expect((await cancel(operator, id)).exit).toBe(0);
    const told = [await run(operator, 'ten.json'), await operator.run('batch', 'status', id, '--watch')];
    expect(told.map(({ exit }) => exit)).toEqual([10, 10]);
    for (const one of told) {
      const [, line = ''] = /`flywheel (batch run FILE[^`]*)`/.exec(problemOf(one).hint ?? '') ?? [];
      const words = line.replace('FILE', 'ten.json').split(' ');
      expect((await operator.run(...words, '--keypair', operator.owner, '--yes')).exit).toBe(0);
    }
    expect(await burned(operator)).toBe('13');
  });
});

it('of a batch that is over, init says so, and gives no approval and no next command', async () => {
  const operator = await anOperator('embedded', INIT);
  expect((await run(operator, operator.write('three.json', THREE))).exit).toBe(0);
  const out = join(operator.directory, 'approval.json');
  for (const form of ['json', 'human']) {
    const told = await operator.run('batch', 'init', 'three.json', '--out', out, '--output', form);
    expect([told.exit, told.stdout]).toEqual([0, expect.stringMatching(/executed/i)]);
    expect(`${told.stdout}${told.stderr}`).not.toMatch(/Approval file|Next:|batch (?:approve|execute)|waits/);
    if (form === 'json') expect(JSON.parse(told.stdout).batch.status).toBe('EXECUTED');
  }
  expect(existsSync(out)).toBe(false);
});

describe('a batch that waits', () => {
  const DECLINED =
    /error: Declined\. Nothing was signed\. Batch .* still waits for approval\. .*\(ERR_DECLINED\)\s+hint: Approve and execute it: `([^`]+)`\. Cancel it: `([^`]+)`/;

  const declined = async (...more: readonly string[]) => {
    const operator = await anOperator('embedded', INIT);
    const file = operator.write('three.json', THREE);
    if (more.length > 0) expect((await run(operator, file)).exit).toBe(0);
    const line = ['batch run', file, '--keypair', operator.owner, ...more].join(' ');
    const wide = `stty cols 1000; '${process.execPath}' '${BIN}' ${line}`;
    const { status, text } = await onTerminal(operator.directory, wide, { NO_COLOR: '1' }, 'n');
    const [, goOn = '', end = ''] = DECLINED.exec(text) ?? [text];
    expect([status, goOn, end]).toEqual([
      130,
      expect.stringMatching(/^flywheel batch execute [0-9a-f-]{36} --keypair .*owner.json$/),
      expect.stringMatching(/^flywheel batch cancel [0-9a-f-]{36} --keypair .*owner.json$/),
    ]);
    const { batches } = await operator.happened();
    expect(batches).toEqual(more.length > 0 ? ['EXECUTED', 'FINALIZED'] : ['FINALIZED']);
    expect(await operator.pending()).toEqual([]);
    return { operator, goOn, end };
  };

  it('after a no to --again is no second payment by the plain command', async () => {
    const { operator, end } = await declined('--again');
    expectProblem(await run(operator, 'three.json'), 2, {
      message: /TWICE: 3 of 3 .*still waits for approval/,
      hint: end,
    });
    expect(await operator.happened()).toMatchObject({ burned: '3' });
  });

  it('after a no goes on with the line that was printed', async () => {
    const { operator, goOn } = await declined();
    const expected = join(operator.directory, 'three.json');
    expect((await operator.paste(`${goOn} --yes --expect ${expected}`)).exit).toBe(0);
    expect((await run(operator, 'three.json')).exit).toBe(0);
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
  });
});

it('a batch is called cancelled, in one word, and the question says that nothing of it was executed', async () => {
  const operator = await anOperator('embedded', INIT);
  const id = await initiated(operator, 'three');
  const typed = (words: string, answer = '') => {
    const wide = `stty cols 1000; '${process.execPath}' '${BIN}' ${words} --keypair ${operator.owner}`;
    return onTerminal(operator.directory, wide, { NO_COLOR: '1' }, answer);
  };
  const silent = await typed('batch run three.json --no-input');
  expect([silent.status, silent.text]).toEqual([2, expect.stringContaining('With --no-input `batch run`')]);
  const { status, text } = await typed(`batch cancel ${id}`, 'y');
  expect([status, text]).toEqual([
    0,
    expect.stringContaining('None of its 3 transactions was executed, and none will be.'),
  ]);
  const told = await operator.run('batch', 'execute', id, '--keypair', operator.owner, '--output', 'human');
  expect([told.exit, told.stdout]).toEqual([
    10,
    expect.stringMatching(/^Batch [0-9a-f-]{36} was cancelled\.\n/),
  ]);
  expect(`${told.stdout}${told.stderr}`).not.toMatch(/failed/);
});

describe('batch run --wallet', () => {
  const RUN = ['batch', 'run', 'three.json', '--wallet', '--json'];
  it.each(sampleOf(['remote', 'embedded'] as const, 1))(
    'after a no in the wallet waits, and goes on to its end with a yes (%s)',
    async (mode) => {
      const operator = await anOperator(mode, INIT);
      operator.write('three.json', THREE);
      const sign = signerOf(operator.owner);
      rmSync(operator.owner);
      const declined = await withPage(operator.start(...RUN), declineOn);
      expect([declined.exit, declined.pages, problemOf(declined)]).toMatchObject([
        ...[130, 1],
        { error: 'ERR_DECLINED', message: expect.stringContaining('still waits for approval') },
      ]);
      expect(await operator.happened()).toMatchObject({ burned: '0', batches: ['FINALIZED'] });
      expect(await operator.pending()).toEqual([]);
      const [, approve = ''] = /execute it: `flywheel ([^`]*)/.exec(problemOf(declined).hint ?? '') ?? [];
      const again = await withPage(operator.start(...approve.split(' '), '--json'), declineOn);
      expect([again.exit, again.pages]).toEqual([130, 1]);
      const ran = await withPage(operator.start(...RUN), (url) => signOn(url, sign));
      expect([ran.exit, ran.pages, ran.exit === 0 ? '' : ran.stderr]).toEqual([0, 1, '']);
      expect(JSON.parse(ran.stdout)).toMatchObject({ result: { totalSuccessful: 3 } });
      const told = await operator.run(...RUN);
      expect([told.exit, JSON.parse(told.stdout)]).toEqual([0, JSON.parse(ran.stdout)]);
      expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
      expect(await operator.pending()).toEqual([]);
      await operator.leave();
    },
  );

  itLong('that was approved and got no answer is pending, and is executed without another page', async () => {
    const operator = await anOperator('remote', INIT);
    operator.write('three.json', THREE);
    gateOf(operator).fate = ({ path }): Fate => (path.endsWith('/batch/execute') ? 'drop' : 'pass');
    const ran = await withPage(operator.start(...RUN), (url) => signOn(url, signerOf(operator.owner)));
    expect([ran.exit, ran.pages, problemOf(ran).error]).toEqual([7, 1, 'ERR_OUTCOME_UNKNOWN']);
    expect(await operator.pending()).toMatchObject([{ operation: 'batch', outcome: 'unknown' }]);
    gateOf(operator).fate = () => 'pass';
    expect((await operator.run(...RUN)).exit).toBe(0);
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    expect(await operator.pending()).toEqual([]);
    await operator.leave();
  });

  it('sets nothing up for what a wallet cannot do', async () => {
    const operator = await anOperator('embedded', INIT);
    operator.write('three.json', THREE);
    expectProblem(await operator.run(...RUN, '--keypair', operator.owner), 2, { error: 'ERR_USAGE' });
    expect((await operator.happened()).batches).toEqual([]);
  });

  it('says who cancels what a batch before has left', async () => {
    const { operator, failed } = await afterFailure();
    await fund(operator, '10');
    expectProblem(
      await operator.run('batch', 'run', 'ten.json', '--wallet', '--rest', '--yes', '--json'),
      2,
      { error: 'ERR_INPUT_INVALID', hint: `flywheel batch cancel ${failed}` },
    );
    expect(await operator.happened()).toMatchObject({ burned: '7', batches: ['FAILED', 'EXECUTED'] });
  });
});

describe('an approval that runs out on its way', () => {
  it('is renewed by the very `batch run` that has signed it, and the batch is executed once', async () => {
    const operator = await anOperator('remote', INIT);
    const gate = gateOf(operator);
    const { dataDir } = operator;
    let executes = 0;
    gate.fate = async ({ path }): Promise<Fate> => {
      if (path.endsWith('/batch/execute')) {
        executes += 1;
        if (executes > 1) return 'pass';
        const height = () => rpcResult<number>(operator.node ?? '', 'getBlockHeight');
        const before = await height();
        await passBlocks({ dataDir }, 150);
        // A node that lags behind would give out the expired blockhash.
        while ((await height()) < before + 150) await setTimeout(20);
      }
      return 'pass';
    };
    const ran = await run(operator, operator.write('three.json', THREE));
    expect([ran.exit, ran.exit === 0 ? '' : ran.stderr]).toEqual([0, '']);
    expect([executes, JSON.parse(ran.stdout).result.totalSuccessful]).toEqual([2, 3]);
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    expect(await operator.pending()).toEqual([]);
    await operator.leave();
  });
});
