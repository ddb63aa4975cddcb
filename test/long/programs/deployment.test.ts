/**
 * The set-up of `examples/deploy` without containers: three servers on one PostgreSQL behind a proxy. One operation is traceable
 * by its id through all of them; one server is killed, one drained, and the audit finds no error.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../../support/http-serve.js';
import { type Machine, type MachineProject, type Machines, openMachines } from '../../support/machines.js';
import type { FaultRule } from '../../test-cluster/faults.js';
import { type Balancer, startBalancer } from './balancer.js';

const UNIT = 1_000_000n;
const RATES = ['--rate', 'burn=1000/s', '--log-level', 'debug'] as const;

let machines: Machines;
let project: MachineProject;
let proxy: Balancer;
const servers: Machine[] = [];

const portOf = ({ process }: Machine): number => Number(new URL(process?.url ?? '').port);

async function up(machine: Machine): Promise<void> {
  await machine.start();
  proxy.ports.add(portOf(machine));
}

async function replace(machine: Machine): Promise<void> {
  proxy.ports.delete(portOf(machine));
  await up(machine);
}

/** The first send hangs, so that its server can be killed in time on a busy machine. */
const LOST: FaultRule = { fault: 'hang', methods: ['sendTransaction'], times: 1 };

beforeAll(async () => {
  machines = await openMachines({ projects: [{ name: 'shop' }], slotMs: 100, faults: [LOST] });
  const [only] = machines.projects;
  if (only === undefined) throw new TypeError('A project is registered.');
  project = only;
  proxy = await startBalancer();
  for (let count = 0; count < 3; count += 1) {
    const machine = await machines.openMachine(RATES);
    servers.push(machine);
    await up(machine);
  }
}, 120_000);
afterAll(async () => {
  await proxy?.close();
  await machines?.close();
});

const server = (index: number): Machine => {
  const machine = servers[index];
  if (machine === undefined) throw new TypeError('There are three.');
  return machine;
};

const burnAt = (url: string, order: number, idempotencyKey: string): Promise<Response> =>
  ask(`${url}/v1/tokenomics/burn`, project.apiKey, {
    body: { type: 'PRODUCT_BUY', proof: { order }, burnAmount: 1, persistOnchain: false },
    idempotencyKey,
  });

/** Retries as a client that relies on idempotency. */
async function burnUntilDone(order: number): Promise<string> {
  const idempotencyKey = randomUUID();
  for (;;) {
    const answer = await burnAt(proxy.url, order, idempotencyKey).catch(() => undefined);
    if (answer?.status === 200) return ((await answer.json()) as { txHash: string }).txHash;
    expect([undefined, 409, 502, 503]).toContain(answer?.status);
    await setTimeout(100);
  }
}

interface Line {
  readonly msg: string;
  readonly server?: string;
  readonly operationId?: string;
  readonly requestId?: string;
  readonly signatures?: readonly string[];
  readonly from?: string | null;
}

const linesOf = (log: string): readonly Line[] =>
  log
    .split('\n')
    // The last line may be incomplete.
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

describe('three servers behind a proxy', () => {
  it('tell one operation by its id, begun by one and brought to its end by another', async () => {
    const [first, other] = [server(0), server(1)];
    const idempotencyKey = randomUUID();
    const asked = burnAt(first.process?.url ?? '', 1_000, idempotencyKey).catch(() => undefined);
    const signed = (): Line | undefined =>
      linesOf(first.process?.log() ?? '').find(({ msg }) => msg === 'signed');
    while (signed() === undefined) await setTimeout(5);
    const begun = linesOf(first.process?.log() ?? '').find(({ msg }) => msg === 'begun');
    await first.process?.end('SIGKILL');
    await asked;
    let answer = await burnAt(other.process?.url ?? '', 1_000, idempotencyKey);
    while (answer.status !== 200) {
      await setTimeout(200);
      answer = await burnAt(other.process?.url ?? '', 1_000, idempotencyKey);
    }
    const { txHash } = (await answer.json()) as { txHash: string };
    const operationId = begun?.operationId;
    expect(operationId).toEqual(expect.any(String));
    const lines = (): readonly Line[] =>
      servers
        .flatMap(({ process }) => linesOf(process?.log() ?? ''))
        .filter((line) => line.operationId === operationId);
    const of = (msg: string): Line | undefined => lines().findLast((line) => line.msg === msg);
    // A request's line is logged after its answer is sent.
    while (of('answered')?.signatures === undefined) await setTimeout(20);
    const takeovers = lines().filter(({ msg, server }) => msg === 'taken over' && server !== begun?.server);
    expect(takeovers.map(({ from }) => from)).toContain(begun?.server);
    expect(of('answered')?.signatures).toEqual([txHash]);
    expect(signed()?.signatures).toContain(txHash);
    await replace(first);
  }, 120_000);

  it('lose one and drain one, and every burn that was asked for landed once', async () => {
    const before = await machines.supplyOf(project);
    const burns = Array.from({ length: 40 }, (_, order) => burnUntilDone(order));
    await Promise.race(burns);
    const [lost, drained] = [server(0), server(1)];
    await lost.process?.end('SIGKILL');
    const ended = drained.process?.end('SIGTERM');
    const signatures = await Promise.all(burns);
    expect(await ended).toEqual({ exit: 0, signal: null });
    expect(new Set(signatures).size).toBe(40);
    for (const machine of [lost, drained]) await replace(machine);
    expect(before - (await machines.supplyOf(project))).toBe(40n * UNIT);
  }, 180_000);
});
