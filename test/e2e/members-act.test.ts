/** Members of the multisig act on a batch with their own tools, between and during commands: nothing is done twice. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { MOMENTS } from '../simulation/audit/tables.js';
import { describeLong, itLong, sampleOf } from '../support/long.js';
import { closeStubs, passOn, stubNode } from '../support/rpc-stub.js';
import type { Spawned } from '../support/spawn.js';
import { signerOf, signOn, withPage } from '../support/wallet-page.js';
import { failedInPart } from './deeds.js';
import type { Fate, GateRequest } from './gate.js';
import { type Members, membersOf } from './members.js';
import { anOperator, expectProblem, gateOf, type Mode, type Operator, problemOf } from './operator.js';

const INIT = ['--vault-tokens', '10', '--burn-wallet-tokens', '100', '--daily-burn', '30'];

/** Ten tokens: four pipelines fit into one bundle; in the second bundle the third fails after three tokens left the vault. */
const AMOUNTS = [1, 1, 1, 1, 1, 1, 4];
const SEVEN = AMOUNTS.map((amount, index) => ({
  type: 'WATCH_AD',
  payload: { name: 'seven', index },
  actions: [{ action: 'BURN', amount }],
}));
const EACH_ONCE = [1, 1, 1, 1, 1, 1, 1];
/** More transactions than are added to a batch at once. */
const MANY = Array.from({ length: 140 }, (_, index) => ({
  ...{ type: 'WATCH_AD', payload: { name: 'many', index }, actions: [{ action: 'MEMO', message: 'done' }] },
}));

type Ended = Spawned & { readonly value: ReturnType<typeof JSON.parse> };

interface Scene {
  readonly operator: Operator;
  readonly members: Members;
  readonly id: string;
  readonly index: number;
  readonly proofHashes: readonly string[];
  json(...words: readonly string[]): Promise<Ended>;
  fund(tokens: string): Promise<void>;
  /** Executions of each pipeline, from the records of the chain. */
  counts(): Promise<readonly number[]>;
}

const scenes: Scene[] = [];
afterEach(async () => {
  await closeStubs();
  for (const { members, operator } of scenes.splice(0)) {
    await members.leave();
    await operator.leave();
  }
});

async function initiated(mode: Mode): Promise<Scene> {
  const operator = await anOperator(mode, INIT);
  const members = await membersOf(operator);
  const json = async (...words: readonly string[]) => {
    const ended = await operator.run(...words, '--json');
    return { ...ended, value: ended.stdout === '' ? null : JSON.parse(ended.stdout) };
  };
  operator.write('seven.json', SEVEN);
  const { value, stderr } = await json('batch', 'init', 'seven.json');
  if (value === null) throw new TypeError(`batch init failed: ${stderr}`);
  const { id, batchIndex, pipelines } = value.batch;
  const proofHashes = pipelines.map(({ proofHash }: { proofHash: string }) => proofHash);
  const scene: Scene = {
    ...{ operator, members, id, index: Number(batchIndex), proofHashes, json },
    fund: async (tokens) => {
      const to = ['--to', 'vault', '--tokens', tokens, '--data-dir', operator.dataDir];
      expect((await operator.run('local', 'fund', ...to)).stderr).toBe('');
    },
    counts: () => members.executions(proofHashes),
  };
  scenes.push(scene);
  return scene;
}

const run = (scene: Scene, file: string, ...more: readonly string[]) =>
  scene.json('batch', 'run', file, '--keypair', scene.operator.owner, '--yes', ...more);
const execute = (scene: Scene, ...more: readonly string[]) =>
  scene.json('batch', 'execute', scene.id, ...more);
const cancel = (scene: Scene) =>
  scene.json('batch', 'cancel', scene.id, '--keypair', scene.operator.owner, '--yes');

/** A batch that failed after four of seven pipelines, because another batch emptied the vault. */
async function failed(mode: Mode): Promise<Scene> {
  const scene = await initiated(mode);
  // Init returns a fresh approval for a file whose batch exists.
  await failedInPart(scene.operator, 'seven.json');
  expect((await run(scene, 'seven.json')).exit).toBe(10);
  expect(await scene.counts()).toEqual([1, 1, 1, 1, 0, 0, 0]);
  return scene;
}

async function expectTruth(
  scene: Scene,
  executed: number,
  batch: object,
  { canRun = true } = {},
): Promise<void> {
  const { operator, id, json } = scene;
  const status = await json('batch', 'status', id);
  const shown = await json('batch', 'show', id);
  const verified = await json('batch', 'verify', id, '--expect', 'seven.json');
  const report = await json('report', '--by', 'all');
  const result = { total: 7, totalSuccessful: executed, totalFailed: 7 - executed };
  expect(status.value).toMatchObject({ ...batch, executeResult: result });
  const states = shown.value.pipelines.map(({ state }: { state: string }) => state === 'EXECUTED');
  expect(states).toEqual(SEVEN.map((_, at) => at < executed));
  expect(verified.value.missing).toEqual(SEVEN.flatMap((_, at) => (at < executed ? [] : [at])));
  const { burned, usedToday } = await operator.happened();
  expect(report.value.total.burned).toBe(burned);
  // An executable batch still reserves its part of the cap.
  const isOver = status.value.status === 'EXECUTED' || status.value.dateCancelled !== undefined;
  const held = isOver || !canRun ? 0 : AMOUNTS.slice(executed).reduce((sum, amount) => sum + amount, 0);
  expect(Number(usedToday.burn)).toBe(Number(burned) + held);
}

const CANCELLED = { status: 'FAILED', dateCancelled: expect.any(String) };

describe.each<Mode>(sampleOf(['embedded', 'remote'], 1))('a batch that failed, %s', (mode) => {
  it('and of which a member executes more is told and cancelled as it is on chain, and its rest is done once', async () => {
    const scene = await failed(mode);
    const { operator, members, index } = scene;
    // A dry run predicts the vault from what this machine can read.
    const dry = await run(scene, 'seven.json', '--rest', '--dry-run');
    expect(dry.exit).toBe(mode === 'embedded' ? 5 : 0);
    expect(await members.execute(index, 1)).toBe(1);
    const left = join(operator.directory, 'left.json');
    const executed = await execute(scene, '--failed-out', left);
    expect([executed.exit, executed.value.result.totalSuccessful]).toEqual([10, 5]);
    const payloads = () =>
      JSON.parse(readFileSync(left, 'utf8')).pipelines.map(
        ({ payload }: { payload: string }) => JSON.parse(payload).index,
      );
    expect(payloads()).toEqual([5, 6]);
    await expectTruth(scene, 5, { status: 'FAILED' });

    expect(await members.execute(index, 1)).toBe(1);
    const again = await run(scene, 'seven.json', '--failed-out', left, '--force');
    expect([again.exit, again.value.result.totalSuccessful, payloads()]).toEqual([10, 6, [6]]);
    const cancelled = await cancel(scene);
    expect([cancelled.exit, cancelled.value.executeResult.totalSuccessful]).toEqual([0, 6]);
    await expectTruth(scene, 6, CANCELLED);

    await scene.fund('10');
    const rest = await run(scene, 'seven.json', '--rest');
    expect([rest.exit, rest.value?.result.total]).toEqual([0, 1]);
    expect(await scene.counts()).toEqual(EACH_ONCE);
    expect((await execute(scene)).value.result.totalSuccessful).toBe(6);
    expect(await operator.pending()).toEqual([]);
  });

  it('and that its members cancel holds nothing of the day once it is looked at, and its rest is done once', async () => {
    const scene = await failed(mode);
    await scene.members.vote(scene.index, 'cancel');
    expect((await run(scene, 'seven.json')).exit).toBe(10);
    await expectTruth(scene, 4, { status: 'FAILED' }, { canRun: false });
    await scene.fund('10');
    expect((await rest(scene)).exit).toBe(0);
    expect(await scene.counts()).toEqual(EACH_ONCE);
  });
});

const WHOLE = { status: 'EXECUTED' };
const rest = (scene: Scene) => run(scene, 'seven.json', '--rest');
describe('a batch that its members execute to its end', () => {
  const AFTER_FAILURE = [
    ['remote', 'run --rest', rest],
    ['embedded', 'execute', execute],
    ['embedded', 'cancel', cancel],
    ['remote', 'cancel', cancel],
  ] as const;
  it.each(sampleOf(AFTER_FAILURE, 1))(
    'after it has failed, %s, is EXECUTED after batch %s',
    async (mode, _command, end) => {
      const scene = await failed(mode);
      await scene.fund('10');
      expect(await scene.members.execute(scene.index, 3)).toBe(3);
      const ended = await end(scene);
      expect([ended.exit, problemOf(ended)]).toEqual([0, expect.anything()]);
      await expectTruth(scene, 7, WHOLE);
      expect((await rest(scene)).exit).toBe(0);
      expect(await scene.counts()).toEqual(EACH_ONCE);
      expect(await scene.operator.pending()).toEqual([]);
    },
  );
});

it('a batch that members have executed is no other one, whatever is expected', async () => {
  const scene = await initiated('embedded');
  const { operator, members, index } = scene;
  await members.vote(index, 'approve');
  expect(await members.execute(index, 7)).toBe(7);
  const other = ['--expect', operator.write('other.json', SEVEN.toReversed())];
  for (const more of [['--failed-out', 'left.json'], []]) {
    const ended = await execute(scene, '--keypair', operator.owner, '--yes', ...other, ...more);
    expectProblem(ended, 9, { error: 'ERR_APPROVAL_REFUSED' });
  }
  expect((await execute(scene, '--expect', 'seven.json')).exit).toBe(0);
});

/** Acts of members between two commands, and the executions of each pipeline once the whole file is done. */
describe('a file of which members do parts with their own tools is done once', () => {
  itLong('where they end a set-up that was broken off, by the commands that are printed', async () => {
    const operator = await anOperator('embedded', INIT);
    const members = await membersOf(operator);
    scenes.push({ operator, members } as Scene);
    const words = ['batch', 'run', operator.write('many.json', MANY), '--keypair', operator.owner];
    const fault = { signal: 'SIGKILL', when: MOMENTS.setUpInPart } as const;
    expect(await operator.runWith(fault, ...words, '--yes')).toMatchObject({ signal: 'SIGKILL' });
    const [{ id, batchIndex }] = JSON.parse((await operator.run('batch', 'list', '--json')).stdout);
    await members.activate(Number(batchIndex));
    await members.vote(Number(batchIndex), 'approve');
    expect(await members.execute(Number(batchIndex), 2)).toBe(2);
    const stopped = await operator.run(...words, '--yes', '--json');
    const [, line = ''] = /`(flywheel batch cancel [^`]+)`/.exec(problemOf(stopped).hint ?? '') ?? [];
    expect([stopped.exit, line]).toEqual([7, expect.stringMatching(/./)]);
    expect((await operator.paste(`${line} --keypair ${operator.owner} --yes`)).exit).toBe(0);
    expectProblem(await operator.run(...words, '--yes', '--json'), 2, { hint: '--rest' });
    const rest = await operator.run(...words, '--yes', '--json', '--rest');
    expect([rest.exit, JSON.parse(rest.stdout || '{}').result?.totalSuccessful]).toEqual([0, 138]);
    const { pipelines } = JSON.parse((await operator.run('batch', 'show', id, '--json')).stdout);
    const hashes = pipelines.map((one: { proofHash: string }) => one.proofHash);
    expect(await members.executions(hashes)).toEqual(MANY.map(() => 1));
  });

  itLong('where they end it after a part, and the node lists no end of it yet', async () => {
    const scene = await initiated('remote');
    const { members, index } = scene;
    await members.vote(index, 'approve');
    expect(await members.execute(index, 2)).toBe(2);
    await members.vote(index, 'cancel');
    await members.close(index);
    expect((await execute(scene)).exit).toBe(10);
    const behind = await stubNode();
    // The newest transaction that names the batch is the one that closed it.
    behind.always = passOn(members.url, (answer: { result: readonly unknown[] }, { method }) =>
      method === 'getSignaturesForAddress' ? { ...answer, result: answer.result.slice(1) } : answer,
    );
    expectProblem(await run(scene, 'seven.json', '--rest', '--rpc-url', behind.url), 7, {
      stdout: '',
      message: 'does not know how many transactions were executed',
    });
    expect((await rest(scene)).exit).toBe(0);
    expect(await scene.counts()).toEqual(EACH_ONCE);
  });

  it('where they execute its beginning with the key of the operator, which is accepted as a gap', async () => {
    const scene = await initiated('embedded');
    const { members, index, json } = scene;
    await members.vote(index, 'approve');
    expect(await members.execute(index, 3, 'operator')).toBe(3);
    expectProblem(await execute(scene), 6, { error: 'ERR_STORE_BEHIND', hint: '`flywheel db accept-gap`' });
    const asked = await json('db', 'accept-gap');
    const [gap, refusal] = asked.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([asked.exit, gap.notice, refusal.error]).toEqual([
      2,
      expect.stringContaining('3 burns'),
      'ERR_USAGE',
    ]);
    const accepted = await json('db', 'accept-gap', '--yes', '--expect', '3');
    expect(accepted.value.gap).toMatchObject({ burned: '3' });
    expect((await json('db', 'check', '--chain')).exit).toBe(0);
    const ran = await run(scene, 'seven.json');
    expect([ran.exit, ran.value?.result.totalSuccessful]).toEqual([0, 7]);
    expect((await json('db', 'check', '--chain')).exit).toBe(0);
    expect(await scene.counts()).toEqual(EACH_ONCE);
    await expectTruth(scene, 7, WHOLE);
  });

  it.each(sampleOf(['reject', 'cancel'] as const, 1))(
    'where they %s what waits at a service, and nothing of it has run',
    async (vote) => {
      const scene = await initiated('remote');
      const { members, index } = scene;
      if (vote === 'cancel') await members.vote(index, 'approve');
      await members.vote(index, vote);
      expectProblem(await run(scene, 'seven.json'), 10, { hint: '--rest' });
      expect((await rest(scene)).exit).toBe(0);
      expect(await scene.counts()).toEqual(EACH_ONCE);
      expect(await scene.operator.pending()).toEqual([]);
    },
  );

  it.each([
    ['approve', 0, '"alreadyApproved":true'],
    ['reject', 1, 'failed on chain'],
  ] as const)(
    'where they %s while the page of a wallet is open, which is told so',
    async (vote, exit, told) => {
      const { operator, members, id, index } = await initiated('embedded');
      const sign = signerOf(operator.owner);
      const child = operator.start('batch', 'approve', id, '--wallet', '--json');
      const ended = await withPage(child, (page) => members.vote(index, vote).then(() => signOn(page, sign)));
      expect([ended.exit, `${ended.stdout}${ended.stderr}`]).toEqual([exit, expect.stringContaining(told)]);
    },
  );

  itLong('where two terminals ask for the rest while a member executes it', async () => {
    const scene = await failed('embedded');
    await scene.fund('20');
    const terminal = (...words: readonly string[]) =>
      scene.operator.runWith({}, 'batch', ...words, '--keypair', scene.operator.owner, '--yes');
    const [, ...all] = await Promise.all([
      scene.members.execute(scene.index, 3),
      terminal('run', 'seven.json', '--rest'),
      terminal('cancel', scene.id),
      terminal('run', 'seven.json', '--rest'),
    ]);
    expect(all.map(({ exit }) => exit)).not.toContain(1);
    await rest(scene);
    expect(await scene.counts()).toEqual(EACH_ONCE);
  });
});

describeLong('a service whose lists cannot be asked', () => {
  const isList = ({ method, path }: GateRequest): boolean =>
    method === 'GET' && /\/(?:flywheel\/batch|pipelines|burns|history)(?:\?|$)/.test(path);
  const unlisted = (request: GateRequest): Fate => (isList(request) ? { refuse: 404 } : 'pass');

  it('is told as such of a file that two batches landed, not as one that lost them', async () => {
    const scene = await failed('remote');
    await scene.fund('20');
    expect((await rest(scene)).exit).toBe(0);
    gateOf(scene.operator).fate = unlisted;
    const told = await run(scene, 'seven.json');
    expect([told.exit, told.stderr]).toEqual([
      ...[0, expect.stringContaining('Only the journal of this machine was checked')],
    ]);
    expect(await scene.counts()).toEqual(EACH_ONCE);
  });

  it('says of no repeat that nothing of it is left, because the first run landed', async () => {
    const { operator, members, json } = await initiated('remote');
    const gate = gateOf(operator);
    const file = operator.write('two.json', SEVEN.slice(0, 2));
    const cancelled = ['batch', 'cancel', '--keypair', operator.owner, '--yes'];
    const [first] = (await json('batch', 'list')).value;
    expect((await json(...cancelled, first.id)).exit).toBe(0);
    const words = ['batch', 'run', file, '--keypair', operator.owner, '--yes'];
    expect((await json(...words)).exit).toBe(0);
    gate.fate = (request) => (request.path.endsWith('/execute') ? 'drop' : unlisted(request));
    expect((await json(...words, '--again', '--max-wait', '1')).exit).not.toBe(0);
    gate.fate = () => 'pass';
    const [{ id, batchIndex }] = (await json('batch', 'list')).value;
    await members.vote(Number(batchIndex), 'approve');
    expect(await members.execute(Number(batchIndex), 1)).toBe(1);
    expect((await json(...cancelled, id)).exit).toBe(0);
    expectProblem(await json(...words), 10, { hint: '--rest' });
  });
});
