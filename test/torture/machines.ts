/**
 * Three `flywheel serve` on one PostgreSQL and one faulty chain: servers are killed, the database restarts, connections are cut,
 * stalled and exhausted, transactions idle, clocks differ by minutes; clients repeat each request until it is answered.
 * Afterwards every answered burn is on chain exactly once and nothing else is, caps were never exceeded, every batch is in one
 * final state, a repeat gets the first answer on every server, and rate limits applied to all servers together.
 */
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Random } from '../fuzz/random.js';
import { signApproval } from '../support/engine.js';
import type { MachineProject } from '../support/machines.js';
import { type Asked, Clients } from './machines/clients.js';
import { KILL, MISHAPS, type Mishap } from './machines/mishaps.js';
import { CAP, openWorld, REPORTS_A_MINUTE, type World } from './machines/world.js';
import type { OpenTorture, TorturePart } from './part.js';

const BURNS = 12;
const MAX_ELEMENTS = 12;
const MAX_PIPELINES = 12;
/** The most time from the start of a round to its fault. */
const BEFORE_MISHAP_MS = 3_000;
/** One base unit, in whole tokens. */
const UNIT = 0.000001;
const UNITS_A_TOKEN = 1_000_000;
const MINUTE_MS = 60_000;
/** Allows for a burst, and for counts lost when the database restarts. */
const RATE_SLACK = 1.25;
const LOG_LINES = 6;
const LOG_CHARACTERS = 1_500;

type Approval = Parameters<typeof signApproval>[1];

interface Burned {
  readonly txHash: string;
}

interface BurnedList {
  readonly success: readonly Burned[];
  readonly errors: readonly { readonly type: string; readonly proof: unknown }[];
}

interface Wanted extends Asked {
  readonly project: MachineProject;
  /** Base units of each element. */
  readonly units: readonly number[];
}

interface BatchWanted {
  readonly init: Wanted;
  executed: number;
  id: string;
}

const elementOf = (key: string, index: number, units: number, persistOnchain: boolean) => ({
  type: 'PRODUCT_BUY',
  proof: { key, index },
  burnAmount: Number((units * UNIT).toFixed(6)),
  persistOnchain,
});

function burnsOf(random: Random, project: MachineProject): Wanted {
  const key = randomUUID();
  const count = random.oneIn(5) ? 1 + random.below(MAX_ELEMENTS) : 1;
  const units = Array.from({ length: count }, () => 1 + random.below(40));
  const elements = units.map((one, index) => elementOf(key, index, one, random.oneIn(4)));
  const isList = count > 1;
  const path = isList ? '/v1/tokenomics/burn-batch' : '/v1/tokenomics/burn';
  return {
    project,
    apiKey: project.apiKey,
    key,
    units,
    path,
    body: JSON.stringify(isList ? elements : elements[0]),
  };
}

function pipelinesOf(random: Random, project: MachineProject): Wanted {
  const key = randomUUID();
  const units = Array.from({ length: 1 + random.below(MAX_PIPELINES) }, () => 1 + random.below(40));
  const pipelines = units.map((one, index) => ({
    type: 'PRODUCT_BUY',
    payload: JSON.stringify({ key, index }),
    actions: [{ action: 'BURN', amount: Number((one * UNIT).toFixed(6)) }],
  }));
  const path = '/v1/flywheel/batch/init';
  return { project, apiKey: project.apiKey, key, units, path, body: JSON.stringify({ pipelines }) };
}

class MachinesTorture implements OpenTorture {
  readonly #world: World;
  readonly #clients: Clients;
  readonly #before: ReadonlyMap<MachineProject, bigint>;
  readonly #burns: Wanted[] = [];
  readonly #batches: BatchWanted[] = [];
  readonly #happened = new Map<string, number>();
  readonly #reports = { startedMs: performance.now(), answered: 0 };

  constructor(world: World, before: ReadonlyMap<MachineProject, bigint>, random: Random) {
    this.#world = world;
    this.#before = before;
    const urls = (): readonly string[] => {
      const there = world.machines.flatMap(({ process }) => (process === undefined ? [] : [process.url]));
      return there.length === 0 ? ['http://127.0.0.1:9'] : there;
    };
    this.#clients = new Clients(random, urls);
  }

  async round(random: Random): Promise<void> {
    const { free, capped, batches } = this.#world.projects;
    const asked = Array.from({ length: BURNS }, () => burnsOf(random, random.oneIn(3) ? capped : free));
    this.#burns.push(...asked);
    const others = [this.#runBatch(random, batches), this.#report(free)];
    const mishaps = [...random.shuffled(MISHAPS).slice(0, 1 + random.below(3)), KILL];
    const ends = await Promise.allSettled([
      ...asked.map((one) => this.#clients.bring(one)),
      // Sent twice at the same time: the second request gets a retry answer, or the first one's answer.
      ...asked.slice(0, 3).map((one) => this.#clients.bring(one)),
      ...others,
      ...mishaps.map((mishap) => this.#happen(mishap, random)),
    ]);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    for (const one of random.shuffled(this.#burns).slice(0, 6))
      if (one.answer?.status === 200) await this.#clients.bring(one);
  }

  report(): string {
    const { tries, broken, byStatus } = this.#clients.met;
    const elements = this.#burns.reduce((sum, { units }) => sum + units.length, 0);
    const list = (map: ReadonlyMap<string, number>): string =>
      [...map]
        .map(([name, count]) => `${count} × ${name}`)
        .sort()
        .join(', ');
    return [
      `      ${this.#burns.length} requests with ${elements} burns, ${this.#batches.length} batches; ${tries} tries, ${broken} without an answer`,
      `      ${list(byStatus)}`,
      `      ${list(this.#happened)}`,
      ...this.#world.machines.flatMap(({ log }) => errorsIn(log())),
    ].join('\n');
  }

  async close(): Promise<void> {
    try {
      await this.#settle();
      await this.#checkBurns();
      await this.#checkBatches();
      this.#checkReports();
    } finally {
      await this.#clients.close();
      await this.#world.close();
    }
  }

  async #happen(mishap: Mishap, random: Random): Promise<void> {
    this.#happened.set(mishap.name, (this.#happened.get(mishap.name) ?? 0) + 1);
    await setTimeout(random.below(BEFORE_MISHAP_MS));
    await mishap.happen(this.#world, random);
  }

  async #runBatch(random: Random, project: MachineProject): Promise<void> {
    const init = pipelinesOf(random, project);
    const { status, text } = await this.#clients.bring(init);
    assert.equal(status, 200, text);
    let { batch, ...approval } = JSON.parse(text) as Approval;
    const wanted: BatchWanted = { init, executed: 0, id: batch.id };
    this.#batches.push(wanted);
    for (;;) {
      const signedTx = signApproval(project.owner, { batch, ...approval });
      const body = JSON.stringify({ batchId: batch.id, signedTx });
      const path = '/v1/flywheel/batch/execute';
      // Two clients execute it at the same time, under their own keys.
      const [answer, other] = await Promise.all(
        [randomUUID(), randomUUID()].map((key) =>
          this.#clients.bring({ path, apiKey: project.apiKey, key, body }),
        ),
      );
      assert(answer !== undefined && other !== undefined);
      if (answer.status === 200 && other.status === 200) assert.deepEqual(answer, other);
      if (answer.status === 200) {
        const { result } = JSON.parse(answer.text) as { result: { totalSuccessful: number } };
        wanted.executed = result.totalSuccessful;
        return;
      }
      assert(answer.text.includes('ERR_APPROVAL_EXPIRED'), answer.text);
      const issued = await this.#clients.bring({
        ...{ path: `/v1/flywheel/batch/${batch.id}/approval`, apiKey: project.apiKey, key: '' },
        body: '{}',
      });
      if (issued.status !== 200) continue;
      ({ batch, ...approval } = JSON.parse(issued.text) as Approval);
    }
  }

  async #report(project: MachineProject): Promise<void> {
    for (let tries = 0; tries < 8; tries += 1) {
      const answer = await this.#clients.read('/v1/tokenomics/report', project.apiKey);
      if (answer?.status === 200) this.#reports.answered += 1;
    }
  }

  async #settle(): Promise<void> {
    for (const { process } of this.#world.machines)
      assert(process !== undefined, 'A server is down for good.');
    for (const one of this.#burns) {
      if (one.answer?.status !== 200) continue;
      await this.#clients.bring(one);
    }
  }

  async #checkBurns(): Promise<void> {
    const { free, capped, batches } = this.#world.projects;
    const landed = new Map<MachineProject, number>();
    const signatures = new Set<string>();
    for (const one of this.#burns) {
      const units = landedUnits(one, signatures);
      landed.set(one.project, (landed.get(one.project) ?? 0) + units);
    }
    for (const { init, executed } of this.#batches) {
      assert.equal(executed, init.units.length, `Batch of ${init.key} was not executed whole.`);
      const units = init.units.reduce((sum, one) => sum + one, 0);
      landed.set(batches, (landed.get(batches) ?? 0) + units);
    }
    assert((landed.get(capped) ?? 0) <= CAP * UNITS_A_TOKEN, `The cap was passed: ${landed.get(capped)}.`);
    for (const project of [free, capped, batches]) {
      const gone = (this.#before.get(project) ?? 0n) - (await this.#world.supplyOf(project));
      assert.equal(Number(gone), landed.get(project) ?? 0, `${project.name}: the chain has burned ${gone}.`);
    }
  }

  async #checkBatches(): Promise<void> {
    const { apiKey } = this.#world.projects.batches;
    for (const { id, init } of this.#batches) {
      for (const { process } of this.#world.machines) {
        const answer = await fetch(`${process?.url}/v1/flywheel/batch/${id}`, {
          headers: { 'x-service-api-key': apiKey },
        });
        const batch = (await answer.json()) as {
          readonly status: string;
          readonly executeResult?: { readonly totalSuccessful: number };
        };
        assert.equal(batch.status, 'EXECUTED', `${answer.status} ${JSON.stringify(batch)}`);
        assert.equal(batch.executeResult?.totalSuccessful, init.units.length);
      }
    }
  }

  #checkReports(): void {
    const { startedMs, answered } = this.#reports;
    const minutes = (performance.now() - startedMs) / MINUTE_MS;
    const most = REPORTS_A_MINUTE * (1 + minutes) * RATE_SLACK;
    assert(answered <= most, `${answered} reports in ${minutes.toFixed(1)} minutes.`);
  }
}

/** The last unexpected log lines of a server; temporary outages are expected. */
const errorsIn = (log: string): readonly string[] =>
  log
    .split('\n')
    .filter((line) => /"level":"(?:error|fatal)"/.test(line) && !line.includes('"ERR_UNAVAILABLE"'))
    .slice(-LOG_LINES)
    .map((line) => line.slice(0, LOG_CHARACTERS));

/** Base units that a request burned; no signature may occur twice. */
function landedUnits({ answer, units, key }: Wanted, signatures: Set<string>): number {
  assert(answer !== undefined, `${key} was never answered.`);
  if (answer.status !== 200) {
    assert(/ERR_DAILY_LIMIT_EXCEEDED/.test(answer.text), `${key}: ${answer.status} ${answer.text}`);
    return 0;
  }
  const value = JSON.parse(answer.text) as Burned | BurnedList;
  const once = ({ txHash }: Burned): void => {
    assert(!signatures.has(txHash), `${txHash} is the answer of two burns.`);
    signatures.add(txHash);
  };
  if (!('success' in value)) {
    once(value);
    return units[0] ?? 0;
  }
  value.success.forEach(once);
  assert.equal(value.success.length + value.errors.length, units.length);
  const failed = new Set<number>();
  for (const { type, proof } of value.errors) {
    assert.equal(type, 'ERR_DAILY_LIMIT_EXCEEDED', JSON.stringify(value.errors));
    failed.add((proof as { index: number }).index);
  }
  return units.reduce((sum, one, index) => sum + (failed.has(index) ? 0 : one), 0);
}

export const tortureMachines: TorturePart = {
  of: `${BURNS} requests, a batch and some mishaps on three servers`,
  async open(seed) {
    const world = await openWorld(seed);
    const before = new Map<MachineProject, bigint>();
    for (const project of Object.values(world.projects)) before.set(project, await world.supplyOf(project));
    return new MachinesTorture(world, before, new Random(seed));
  },
};
