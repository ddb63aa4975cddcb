/** A proxy that replays an earlier answer or the answer of another request: the command reports neither success nor failure. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { sampleOf } from '../support/long.js';
import { emptyDirectory, type Spawned } from '../support/spawn.js';
import { pipelinesOf } from './deeds.js';
import type { Gate, GateRequest, Passed, Replay } from './gate.js';
import { anOperator, gateOf, type Operator, resumeLineOf } from './operator.js';

const UNKNOWN = 7;

let operator: Operator;
let gate: Gate;
beforeAll(async () => {
  operator = await anOperator('remote');
  gate = gateOf(operator);
});
afterAll(() => operator.leave());

const burned = async (): Promise<number> => Number((await operator.happened()).burned);
const isPost = ({ method, path }: GateRequest, end: string): boolean =>
  method === 'POST' && path.endsWith(end);

/** The latest answer of a path, as a caching proxy stores it. */
function latest(end: string, isOne: (passed: Passed) => boolean = () => true): Passed {
  const found = gate.passed.findLast((passed) => isPost(passed, end) && isOne(passed));
  if (found === undefined) throw new TypeError(`nothing was passed on to ${end}`);
  return found;
}

const LIES = [
  { how: 'before the request is carried out', reaches: false, withHeaders: true },
  { how: 'after the request is carried out', reaches: true, withHeaders: true },
  { how: 'before the request is carried out, without its headers', reaches: false, withHeaders: false },
  { how: 'after the request is carried out, without its headers', reaches: true, withHeaders: false },
];
const WHOLE = LIES.filter(({ withHeaders }) => withHeaders);
/** A sample for slow commands. */
const SOME = sampleOf(LIES.slice(1, 3), 1);

/** Runs a command while the proxy does this with its requests. */
async function under(fate: Gate['fate'], words: readonly string[]): Promise<Spawned> {
  gate.fate = fate;
  const ended = await operator.run(...words, '--json');
  gate.fate = () => 'pass';
  return ended;
}

/** Runs a command while the proxy answers requests to these paths with earlier answers. */
const lied = (end: string, replay: Passed, lie: Omit<Replay, 'replay'>, words: readonly string[]) =>
  under((request) => (isPost(request, end) ? { ...lie, replay } : 'pass'), words);

/** Expects an unknown outcome that the printed resume line completes. */
async function expectUnknown(ended: Spawned): Promise<void> {
  const line = resumeLineOf(ended);
  expect([ended.exit, ended.stdout, line === '', ended.stderr]).toEqual([
    ...[UNKNOWN, '', false, expect.stringContaining('ERR_OUTCOME_UNKNOWN')],
  ]);
  const resumed = await operator.paste(line);
  expect([resumed.exit, resumed.exit === 0 ? '' : resumed.stderr]).toEqual([0, '']);
  expect(operator.open()).toEqual([]);
}

const burn = (proof: object, ...more: readonly string[]): readonly string[] => [
  ...['burn', '--type', 'WATCH_AD', '--proof', JSON.stringify(proof), '--amount', '1', ...more],
];

/** In the shape of the service. */
const refusal = (status: number, error: string): Passed => ({
  ...{ method: 'POST', path: '/', key: undefined, status },
  headers: { 'content-type': 'application/json' },
  content: Buffer.from(JSON.stringify({ error, message: 'No.' })),
});

const burnFile = (name: string, proof: object): string =>
  operator.write(`${name}.json`, [{ type: 'WATCH_AD', proof, burnAmount: 1, persistOnchain: false }]);

describe('an earlier answer', () => {
  it.each(sampleOf(LIES, 1))('to another burn is not believed, $how', async (lie) => {
    const before = await burned();
    expect((await operator.run(...burn({ first: lie.how }))).exit).toBe(0);
    const replay = latest('/burn');
    await expectUnknown(await lied('/burn', replay, lie, burn({ second: lie.how })));
    await expectUnknown(await lied('/burn', replay, lie, burn({ third: lie.how }, '--once')));
    expect((await burned()) - before).toBe(3);
  });

  it.each(sampleOf(LIES.toReversed(), 1))(
    'to the same burn, asked for before, is not believed, $how',
    async (lie) => {
      const before = await burned();
      expect((await operator.run(...burn({ same: lie.how }))).exit).toBe(0);
      await expectUnknown(await lied('/burn', latest('/burn'), lie, burn({ same: lie.how })));
      expect((await burned()) - before).toBe(2);
    },
  );

  it('that bears an id of the proxy is not believed, also where its look-up does', async () => {
    const before = await burned();
    const own = burn({ own: 1 });
    expect((await operator.run(...own)).exit).toBe(0);
    const replay = { ...latest('/burn'), headers: { ...latest('/burn').headers, 'x-request-id': 'proxy-1' } };
    const lie = { how: '', reaches: false, withHeaders: true };
    await expectUnknown(await lied('/burn', replay, lie, own));
    const list = gate.passed.findLast(({ path }) => path.includes('/burns?'));
    if (list === undefined) throw new TypeError('the burn was not looked up');
    const headers = { ...list.headers, 'x-request-id': 'proxy-2' };
    const both: Gate['fate'] = (request) => {
      if (isPost(request, '/burn')) return { ...lie, replay, reaches: true };
      return request.path.includes('/burns?') ? { ...lie, replay: { ...list, headers } } : 'pass';
    };
    await expectUnknown(await under(both, own));
    expect((await burned()) - before).toBe(3);
  });

  it('that bears the id of this one is not believed', async () => {
    const before = await burned();
    const lie = { how: '', reaches: false, withHeaders: true, withItsId: true };
    const file = burnFile('cached', { cached: 2 });
    const once = burn({ cached: 1 }, '--once');
    const more = burn({ cached: 1 }).map((word) => (word === '1' ? '2' : word));
    expect((await operator.run(...once)).exit).toBe(0);
    for (const words of [burn({ cached: 1 }), more, [...once, '--again']])
      await expectUnknown(await lied('/burn', latest('/burn'), lie, words));
    expect((await operator.run('burn-batch', file)).exit).toBe(0);
    const again = ['burn-batch', file, '--again'];
    await expectUnknown(await lied('/burn-batch', latest('/burn-batch'), lie, again));
    expect((await burned()) - before).toBe(7);
  });

  it('to an earlier init that bears the id of this one is not believed', async () => {
    const lie = { how: '', reaches: false, withHeaders: true, withItsId: true };
    const file = operator.write('init.json', {
      pipelines: [{ type: 'WATCH_AD', payload: '{"init":1}', actions: [{ action: 'BURN', amount: 1 }] }],
    });
    expect((await operator.run('batch', 'init', file)).exit).toBe(0);
    const init = latest('/batch/init');
    const [{ id }] = JSON.parse((await operator.run('batch', 'list', '--json')).stdout);
    expect((await operator.run('batch', 'cancel', id, '--keypair', operator.owner, '--yes')).exit).toBe(0);
    // As on another machine, without the journal.
    const words = ['batch', 'init', file, '--again'];
    await expectUnknown(await lied('/batch/init', init, lie, words));
  });

  it.each(sampleOf(WHOLE.toReversed(), 1))('that refused another burn is not believed, $how', async (lie) => {
    const before = await burned();
    const tooMuch = burn({ tooMuch: lie.how }).map((word) => (word === '1' ? '999999999' : word));
    expect((await operator.run(...tooMuch)).exit).toBe(5);
    const refused = latest('/burn', ({ status }) => status === 400);
    await expectUnknown(await lied('/burn', refused, lie, burn({ refused: lie.how })));
    expect((await burned()) - before).toBe(1);
  });

  it('that is put in place of a success is not believed', async () => {
    const before = await burned();
    const file = burnFile('forged', { forged: 2 });
    const forged = () => ({ status: 400, body: { error: 'ERR_INVALID_PROOF', message: 'No.' } });
    for (const words of [burn({ forged: 1 }), ['burn-batch', file]])
      await expectUnknown(
        await under(({ method }) => (method === 'POST' ? { alter: forged } : 'pass'), words),
      );
    expect((await burned()) - before).toBe(2);
  });

  it('that refuses, and denies a list that was answered before, refuses nothing', async () => {
    const before = await burned();
    const file = burnFile('denied', { denied: 1 });
    const lie = (status: number, error: string): Replay => ({
      ...{ reaches: true, withHeaders: true, withItsId: true, replay: refusal(status, error) },
    });
    let isSent = false;
    const denied: Gate['fate'] = ({ method }) => {
      if (method === 'GET') return isSent ? lie(404, 'ERR_NOT_FOUND') : 'pass';
      isSent = true;
      return lie(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
    };
    await expectUnknown(await under(denied, ['burn-batch', file]));
    expect((await burned()) - before).toBe(1);
  });

  it.each([
    [413, 'ERR_PAYLOAD_TOO_LARGE', 'does not name the request'],
    [404, 'ERR_FOO', 'has a code of its own'],
  ])('that is a refusal by the proxy refuses nothing: %i %s %s', async (status, error, why) => {
    const before = await burned();
    const lie = { reaches: false, withHeaders: true, withItsId: error === 'ERR_FOO' };
    const file = burnFile('refused', { file: why });
    await expectUnknown(await lied('/burn', refusal(status, error), lie, burn({ why })));
    await expectUnknown(await lied('/burn-batch', refusal(status, error), lie, ['burn-batch', file]));
    expect((await burned()) - before).toBe(2);
  });

  it.each(SOME)('to the execution of another batch is not believed, $how', async (lie) => {
    const before = await operator.happened();
    const run = (name: string) => {
      const file = operator.write(`${name}.json`, pipelinesOf(`${name} ${lie.how}`));
      return ['batch', 'run', file, '--keypair', operator.owner, '--yes'];
    };
    expect((await operator.run(...run('one'))).exit).toBe(0);
    await expectUnknown(await lied('/execute', latest('/execute'), lie, run('other')));
    const after = await operator.happened();
    expect(Number(after.burned) - Number(before.burned)).toBeCloseTo(6, 9);
  });
});

/** On a machine whose journal does not know what another machine has sent. */
describe('a list from before another machine sent an overlapping file', () => {
  const element = (proof: number) => ({
    type: 'WATCH_AD',
    proof: { list: proof },
    burnAmount: 1,
    persistOnchain: false,
  });
  const pipeline = (proof: number) => ({
    ...{ type: 'WATCH_AD', payload: `{"list":${proof}}`, actions: [{ action: 'BURN', amount: 1 }] },
  });
  const FILES = {
    'burn-batch': (numbers: readonly number[]) => numbers.map(element),
    'batch run': (numbers: readonly number[]) => ({ pipelines: numbers.map(pipeline) }),
  };
  const PROFILES = '.config/flywheel/profiles.json';
  const ids = { strip: {}, own: { 'x-request-id': 'proxy-1' } };

  it.each([
    ['burn-batch', 'strip', 10],
    ['burn-batch', 'own', 20],
    ['batch run', 'strip', 30],
    ['batch run', 'own', 40],
  ] as const)('is not believed: %s, %s the request id', async (command, how, at) => {
    const home = emptyDirectory();
    cpSync(join(operator.directory, PROFILES), join(home, PROFILES));
    const other = (...words: readonly string[]) => flywheelHere({ home }, ...words, '--max-wait', '0');
    const [first, second] = [
      [at, at + 1],
      [at + 1, at + 2],
    ].map((numbers, index) =>
      join(operator.directory, operator.write(`${how}${at}${index}.json`, FILES[command](numbers))),
    ) as [string, string];
    const sign = command === 'batch run' ? ['--keypair', operator.owner] : [];
    const send = [...command.split(' '), second, ...sign, '--yes'];
    const passed = gate.passed.length;
    expect((await other(...send, '--dry-run')).exit).toBe(0);
    const kept = gate.passed.slice(passed).filter(({ method }) => method === 'GET');
    const before = await burned();
    expect((await operator.run(...command.split(' '), first, ...sign, '--yes')).exit).toBe(0);
    gate.fate = ({ path }) => {
      const replay = kept.find((each) => each.path === path);
      if (replay === undefined) return 'pass';
      const { 'x-request-id': _own, ...headers } = replay.headers;
      return {
        replay: { ...replay, headers: { ...headers, ...ids[how] } },
        withHeaders: true,
        reaches: false,
      };
    };
    const ended = await other(...send);
    gate.fate = () => 'pass';
    expect([ended.exit, ended.stdout, ended.stderr]).toEqual([
      6,
      '',
      expect.stringContaining('x-request-id'),
    ]);
    expect((await burned()) - before).toBe(2);
    expect((await other(...send, '--rest')).exit).toBe(0);
    expect((await burned()) - before).toBe(3);
  });
});
