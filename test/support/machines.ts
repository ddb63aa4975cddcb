/** Several `flywheel serve` processes that share one PostgreSQL and one node, each with its own database relay and clock. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { dataFiles } from '../../src/compose/local-config.js';
import type { RegisterInput } from '../../src/contract/admin.js';
import { openPostgresStore } from '../../src/store/postgres/open.js';
import type { Address } from '../../src/values/address.js';
import type { FaultRule } from '../test-cluster/faults.js';
import { startTestNode } from '../test-cluster/node.js';
import { openDatabaseWay } from './database-way.js';
import { openTestEngine } from './engine.js';
import { faultEnvironment } from './faults.js';
import { type ServeProcess, serve } from './http-serve.js';
import { queryAt, startPostgres } from './postgres.js';
import { rpcResult } from './rpc-call.js';
import { emptyDirectory } from './spawn.js';

export type MachineProject = Machines['projects'][number];

export interface MachinesOptions {
  readonly projects: readonly (Partial<RegisterInput> & { readonly name: string })[];
  readonly faults?: readonly FaultRule[];
  readonly seed?: number;
  readonly slotMs: number;
  readonly postgres?: readonly string[];
}

export type Machine = Awaited<ReturnType<Machines['openMachine']>>;
export type Machines = Awaited<ReturnType<typeof openMachines>>;

/** @returns the data directory and its projects. */
async function registerProjects(databaseUrl: string, inputs: MachinesOptions['projects']) {
  const store = await openPostgresStore({ url: databaseUrl });
  const [first, ...others] = inputs.map((input) => ({
    ...{ burnWalletSol: '100', vaultSol: '50', symbol: input.name.toUpperCase() },
    ...input,
  }));
  const test = await openTestEngine(first, { store });
  const registered = [test.project];
  for (const input of others) registered.push(await test.register(input));
  await test.close();
  await store.close();
  const projects = registered.map(({ registration, owner, key }, at) => ({
    ...{ name: inputs[at]?.name ?? '', registration, owner, apiKey: key.reveal() },
  }));
  return { dataDir: test.dataDir, projects };
}

/** Sets the name and facts, as `flywheel register` does after the registration. */
async function nameProjects(
  databaseUrl: string,
  projects: Awaited<ReturnType<typeof registerProjects>>['projects'],
): Promise<void> {
  const update = "update projects set name = $1, facts = '{}' where id = $2";
  for (const { name, registration } of projects)
    await queryAt(databaseUrl, update, [name, registration.tokenId]);
}

export async function openMachines(options: MachinesOptions) {
  const home = emptyDirectory();
  const database = await startPostgres(...(options.postgres ?? []));
  const { dataDir: ledger, projects } = await registerProjects(database.url, options.projects);
  await nameProjects(database.url, projects);
  const { slotMs, seed = 1, faults = [] } = options;
  const node = await startTestNode({
    ...{ directory: ledger, isDataDirectory: true, pace: 'clock', seed, faults },
    ...{ slotMs, confirmedAfter: 1, finalizedAfter: 6 },
  });
  const opened: { end(): Promise<void> }[] = [];
  return {
    ...{ database, node, projects },
    /** Opens a machine without starting it. @param apartMs - its clock minus the true time. */
    async openMachine(words: readonly string[], apartMs = 0) {
      const way = await openDatabaseWay(database.url);
      const dataDir = join(home, `machine-${opened.length}`);
      cpSync(dataFiles(ledger).keys, dataFiles(dataDir).keys, { recursive: true });
      const env = {
        FLYWHEEL_DATABASE_URL: way.url,
        FLYWHEEL_RPC_URL: node.url,
        ...(apartMs === 0 ? {} : faultEnvironment({ clockAheadMs: apartMs }, dataDir)),
      };
      const earlier: ServeProcess[] = [];
      const machine = {
        way,
        /** `undefined` while the process is down. */
        process: undefined as ServeProcess | undefined,
        log: () => earlier.map((one) => one.log()).join(''),
        async start(): Promise<void> {
          machine.process = await serve({ home, dataDir, env }, ...words);
          earlier.push(machine.process);
        },
        async end(): Promise<void> {
          await machine.process?.end('SIGKILL');
          machine.process = undefined;
          await way.end();
        },
      };
      opened.push(machine);
      return machine;
    },
    supplyOf: ({ registration }: (typeof projects)[number]) =>
      supplyOf(node.url, registration.mintAddress as Address),
    async close(): Promise<void> {
      for (const machine of opened) await machine.end();
      await node.close(100);
      await database.stop();
    },
  };
}

const MOST_TRIES = 20;

/** Retries until the node answers: it may have faults. */
async function supplyOf(url: string, mint: Address): Promise<bigint> {
  for (let tries = 1; ; tries += 1) {
    try {
      const { value } = await rpcResult<{ value: { amount: string } }>(url, 'getTokenSupply', mint, {
        commitment: 'processed',
      });
      return BigInt(value.amount);
    } catch (error) {
      if (tries >= MOST_TRIES) throw error;
    }
  }
}
