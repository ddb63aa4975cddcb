/** Commands behind a service whose answers are lost, refused and interrupted: the line that is printed then finishes each, once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEEDS, type Deed, expectDone } from '../support/deeds.js';
import type { Fate, Gate, GateRequest } from '../support/gate.js';
import {
  anOperator,
  ending,
  type Happened,
  makeTemplate,
  type Operator,
  problemOf,
  resumeLineOf,
  type Template,
} from '../support/operator.js';
import type { Spawned } from '../support/spawn.js';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});

const sent = (request: GateRequest, { path }: Deed): boolean =>
  request.method === 'POST' && path.test(request.path);

/** One command of an operator, through a fault to its end. */
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

  /** Sends the command a signal while its request is out; what becomes of that is decided when the command is gone. */
  async brokenOff(signal: 'SIGINT' | 'SIGKILL', fate: Fate): Promise<Spawned> {
    const child = this.#operator.start(...this.words);
    const ended = ending(child);
    this.gate.fate = async (request) => {
      if (!sent(request, this.#deed)) return 'pass';
      child.kill(signal);
      await ended;
      return fate;
    };
    return ended;
  }

  /** Runs the line that was printed, then the command itself again, which does nothing and says the same. */
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
    expect(await this.#operator.pending()).toEqual([]);
  }
}

describe.each(Object.entries(DEEDS))('%s', (title, deed) => {
  let operator: Operator;
  beforeAll(async () => {
    operator = await anOperator('remote', template, { pinned: deed.votes });
  });
  afterAll(() => operator.leave());

  const attempt = async (fault: string): Promise<Attempt> => {
    const before = await operator.happened();
    const words = [...(await deed.words(operator, `${title} ${fault}`.replaceAll(/\W/g, ''))), '--json'];
    return new Attempt(operator, deed, before, words);
  };

  it('is finished once though its answer is lost, and all that asks again is refused at the door', async () => {
    const tried = await attempt('lost');
    tried.gate.fate = (request) => (sent(request, deed) ? 'lose' : 'pass');
    const lost = await operator.run(...tried.words);
    expect([lost.exit, lost.stdout, problemOf(lost).error]).toEqual([7, '', 'ERR_OUTCOME_UNKNOWN']);
    const line = resumeLineOf(lost);
    // A run and its parts read the chain each time, which is slow; what they do at the door is the same code.
    for (const status of deed.votes ? [401, 413] : [401, 403, 404, 413, 429]) {
      tried.gate.fate = () => ({ refuse: status });
      const refused = await operator.run(...tried.words);
      expect([status, refused.exit, refused.stdout, problemOf(refused).error, resumeLineOf(refused)]).toEqual(
        [status, 7, '', 'ERR_OUTCOME_UNKNOWN', line],
      );
    }
    await tried.finish(line);
  });

  it('is finished once after kill -9 while it is out', async () => {
    const tried = await attempt('killed');
    expect((await tried.brokenOff('SIGKILL', 'lose')).signal).toBe('SIGKILL');
    const [row, ...others] = await operator.pending();
    expect([row?.outcome, others]).toEqual(['unknown', []]);
    await tried.finish(row?.resume ?? '');
  });

  // A run that is broken off later has these behind it.
  if (title === 'batch run (setting up)') return;

  it('is finished once though half of it arrives, after Ctrl-C while it is out', async () => {
    const tried = await attempt('interrupted');
    const interrupted = await tried.brokenOff('SIGINT', 'cut');
    expect([interrupted.exit, interrupted.stdout]).toEqual([130, '']);
    const line = resumeLineOf(interrupted);
    tried.gate.fate = (request) => (sent(request, deed) ? 'cut' : 'pass');
    const cut = await operator.run(...tried.words);
    expect([cut.exit, cut.stdout, resumeLineOf(cut)]).toEqual([7, '', line]);
    await tried.finish(line);
  });
});
