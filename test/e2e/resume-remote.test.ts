/** Commands behind a service whose answers are lost, refused or interrupted: the printed resume line completes each once. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLong, sampleOf } from '../support/long.js';
import type { Spawned } from '../support/spawn.js';
import { startNodeBeside } from '../test-cluster/node.js';
import { DEEDS, type Deed, expectDone, pipelinesOf } from './deeds.js';
import type { Fate, Gate, GateRequest } from './gate.js';
import {
  anOperator,
  ending,
  expectProblem,
  gateOf,
  type Happened,
  type Operator,
  problemOf,
  resumeLineOf,
} from './operator.js';

const sent = (request: GateRequest, { path }: Deed): boolean =>
  request.method === 'POST' && path.test(request.path);

class Attempt {
  readonly #operator: Operator;
  readonly #deed: Deed;
  readonly #before: Happened;
  readonly words: readonly string[];
  readonly gate: Gate;

  constructor(operator: Operator, deed: Deed, before: Happened, words: readonly string[]) {
    if (operator.gate === null)
      throw new TypeError('There is nothing between this operator and the service.');
    this.#operator = operator;
    this.#deed = deed;
    this.#before = before;
    this.words = words;
    this.gate = operator.gate;
  }

  /** Signals the command while its request is in progress; the request's outcome follows once the command is gone. */
  async brokenOff(signal: 'SIGINT' | 'SIGKILL', fate: Fate): Promise<Spawned> {
    const child = this.#operator.start(...this.words);
    const ended = ending(child);
    this.gate.fate = async (request) => {
      if (!sent(request, this.#deed)) return 'pass';
      child.kill(signal);
      await ended;
      return fate;
    };
    const left = await ended;
    if (left.signal === 'SIGKILL') this.#operator.passLease();
    return left;
  }

  /** Runs the printed line, then the command again, which sends nothing and prints the same. */
  async finish(line: string): Promise<void> {
    this.gate.fate = () => 'pass';
    expect(line).toMatch(/^flywheel pending resume [0-9a-f]{8} --profile works/);
    const resumed = await this.#operator.paste(line);
    expect([resumed.exit, resumed.exit === 0 ? '' : resumed.stderr]).toEqual([0, '']);
    await this.#expectDone();
    if (this.#deed.isNewEachTime === true) return;
    const again = await this.#operator.run(...this.words);
    expect([again.exit, Object.keys(JSON.parse(again.stdout))]).toEqual([
      0,
      Object.keys(JSON.parse(resumed.stdout)),
    ]);
    await this.#expectDone();
  }

  async #expectDone(): Promise<void> {
    expectDone(this.#before, await this.#operator.happened(), this.#deed);
    expect(this.#operator.open()).toEqual([]);
  }
}

/** Shared by all tests; each compares the state before and after its command. */
let operator: Operator;
beforeAll(async () => {
  operator = await anOperator('remote');
});
afterAll(() => operator.leave());

/** Execute and cancel are idempotent by themselves, so the journal does not record them. */
const KEPT = Object.keys(DEEDS).filter((title) => title !== 'batch execute' && title !== 'batch cancel');
/** resume-dress.test.ts covers a lost burn; an interrupted run resumes after its set-up. */
const OFTEN = KEPT.filter((title) => title !== 'burn' && !title.includes('setting up'));
const FAULTS = ['killed', 'lost', 'interrupted'] as const;
const REFUSALS = [401, 403, 404, 413, 429];

/** Every check tries one fault and one refusal a command; LONG=1 all. */
const CASES = KEPT.flatMap((title) => {
  if (isLong) return FAULTS.map((fault) => ({ title, fault, refusals: REFUSALS }));
  const at = OFTEN.indexOf(title);
  const fault = FAULTS[at % FAULTS.length] as (typeof FAULTS)[number];
  return at < 0 ? [] : [{ title, fault, refusals: REFUSALS.slice(at % REFUSALS.length).slice(0, 1) }];
});

describe.each(sampleOf(CASES, 2))('$title', ({ title, fault, refusals }) => {
  const deed = DEEDS[title] as Deed;
  const breakOff: Record<typeof fault, (tried: Attempt) => Promise<string>> = {
    killed: async (tried) => {
      expect((await tried.brokenOff('SIGKILL', 'lose')).signal).toBe('SIGKILL');
      const [row, ...others] = await operator.pending();
      expect([row?.outcome, others]).toEqual(['unknown', []]);
      return row?.resume ?? '';
    },
    lost: async (tried) => {
      tried.gate.fate = (request) => (sent(request, deed) ? 'lose' : 'pass');
      const lost = await operator.run(...tried.words);
      expectProblem(lost, 7, { stdout: '', error: 'ERR_OUTCOME_UNKNOWN' });
      return resumeLineOf(lost);
    },
    interrupted: async (tried) => {
      const interrupted = await tried.brokenOff('SIGINT', 'cut');
      expect([interrupted.exit, interrupted.stdout]).toEqual([130, '']);
      return resumeLineOf(interrupted);
    },
  };

  it(`is finished once though it is ${fault} while it is out, and refused at the door when it asks again`, async () => {
    const before = await operator.happened();
    const name = `${title} ${fault}`.replaceAll(/\W/g, '');
    const tried = new Attempt(operator, deed, before, [...(await deed.words(operator, name)), '--json']);
    const line = await breakOff[fault](tried);
    for (const status of refusals) {
      tried.gate.fate = () => ({ refuse: status });
      const refused = await operator.run(...tried.words);
      const { exit, stdout } = refused;
      expect([status, exit, stdout, problemOf(refused).error, resumeLineOf(refused)]).toEqual([
        status,
        7,
        '',
        'ERR_OUTCOME_UNKNOWN',
        line,
      ]);
    }
    await tried.finish(line);
  });
});

describe('a request that was answered, and whose result cannot be looked up', () => {
  const content = Buffer.from(JSON.stringify({ error: 'ERR_PAYLOAD_TOO_LARGE', message: 'Not now.' }));
  const said = { method: 'GET', path: '', key: undefined, status: 413, headers: {}, content };
  const refused: Fate = { replay: said, withHeaders: false, withItsId: true, reaches: false };
  const FATES = { refused, unreachable: 'drop' } as const;
  const TITLES = ['batch execute', 'batch cancel', 'batch run (executing)'] as const;
  const cases = TITLES.flatMap((title) => Object.entries(FATES).map(([how, fate]) => ({ title, how, fate })));

  it.each(isLong ? cases : cases.filter(({ title }, at) => at % 2 === TITLES.indexOf(title) % 2))(
    'of $title is no refusal, and its repeat prints what came of it ($how)',
    async ({ title, how, fate }) => {
      const deed = DEEDS[title] as Deed;
      const before = await operator.happened();
      const words = await deed.words(operator, `answered${title}${how}`.replaceAll(/\W/g, ''));
      const gate = gateOf(operator);
      let isAnswered = false;
      gate.fate = (request) => {
        isAnswered ||= sent(request, deed);
        return isAnswered && request.method === 'GET' ? fate : 'pass';
      };
      const ended = await operator.run(...words, '--json');
      gate.fate = () => 'pass';
      expectDone(before, await operator.happened(), deed);
      expectProblem(ended, 7, { stdout: '', error: 'ERR_OUTCOME_UNKNOWN' });
      expect(problemOf(ended).message).not.toContain('Nothing was sent');
      expect(resumeLineOf(ended)).toMatch(/^flywheel (?:pending resume|batch execute|batch cancel) /);
      const again = await operator.run(...words, '--json');
      expect([again.exit, again.stdout === '']).toEqual([0, false]);
      expectDone(before, await operator.happened(), deed);
      expect(operator.open()).toEqual([]);
    },
  );
});

describe('a run that was given nodes and pins', () => {
  const lost: Fate = 'drop';
  const runFile = (at: Operator, ...more: readonly string[]): Promise<Spawned> => {
    const file = at.write('given.json', pipelinesOf('given'));
    gateOf(at).fate = ({ path }) => (path.endsWith('/batch/execute') ? lost : 'pass');
    return at.run('batch', 'run', file, '--keypair', at.owner, '--yes', '--json', ...more);
  };

  it('is resumed with both by the line that is printed, which holds no key of a node', async () => {
    const pinned = await operator.run('profile', 'pin', 'works', '--yes', '--out', 'pins.json');
    expect(pinned.exit).toBe(0);
    const pins = join(operator.directory, 'pins.json');
    const other = await anOperator('remote', [], { pinned: false });
    const node = await startNodeBeside(other.dataDir);
    // A file given by a relative path has to resolve from any directory.
    cpSync(pins, join(other.directory, 'pins.json'));
    const ran = await runFile(other, '--rpc-url', node.url, '--pins', 'pins.json');
    const line = resumeLineOf(ran);
    expect([ran.exit, line]).toEqual([
      7,
      expect.stringContaining(`--rpc-url ${node.url} --pins ${other.directory}/pins.json`),
    ]);
    const secret = '0123456789abcdef';
    const url = `${node.url.replace('//', `//user:${secret}@`)}/v2/${secret}?api-key=${secret}`;
    const hidden = await runFile(other, '--rpc-url', url, '--pins', 'pins.json');
    const listed = await other.run('pending', '--json', '--rpc-url', url);
    const shown = `--rpc-url '${node.url}/***'`;
    expect([hidden.exit, problemOf(hidden).hint, listed.stdout]).toEqual([
      7,
      expect.stringMatching(/in place of \*\*\*, or leave out --rpc-url and set FLYWHEEL_RPC_URL\. .*\*\*\*/),
      expect.stringContaining(shown),
    ]);
    expect(resumeLineOf(hidden)).toContain(shown);
    expect(JSON.stringify([hidden, listed])).not.toContain(secret);
    gateOf(other).fate = () => 'pass';
    expect((await other.paste(line)).exit).toBe(0);
    expect((await other.happened()).batches).toEqual(['EXECUTED']);
    await node.close();
    await other.leave();
  });
});
