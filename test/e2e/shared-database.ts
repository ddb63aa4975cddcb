/** Machines with a directory each that share a database and a chain, on which nothing is registered yet. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { testProject } from '../support/registration.js';
import { emptyDirectory, problemOf } from '../support/spawn.js';
import { closeTestNodes, startTestNode } from '../test-cluster/node.js';
import { sendByTreasury } from './treasury.js';

export interface Registered {
  readonly project: string;
  readonly registration: { readonly burnWallet: string; readonly multisig: string };
  readonly apiKey: { readonly file: string };
}

type Environment = Readonly<Record<string, string>>;

export async function sharedDatabase(
  postgres: { readonly url: string; stop(): Promise<void> },
  terms: Parameters<typeof testProject>[0] = {},
) {
  const project = await testProject(terms);
  const slots = { pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 } as const;
  const node = await startTestNode({ directory: project.directory, ...slots });
  const home = emptyDirectory();
  const machine = (name: string, env: Environment = {}) => {
    const dataDir = join(home, name);
    const own = {
      FLYWHEEL_DATA_DIR: dataDir,
      FLYWHEEL_RPC_URL: node.url,
      FLYWHEEL_DATABASE_URL: postgres.url,
      ...env,
    };
    return { home, dataDir, env: own };
  };
  const run = async (name: string, ...words: string[]) => {
    const ended = await flywheelHere(machine(name), ...words, '--json');
    // For `doctor` a vault without tokens is a problem.
    const exits = words[0] === 'doctor' ? [0, 5] : [0];
    expect([exits.includes(ended.exit ?? -1), ended.stderr]).toEqual([true, expect.any(String)]);
    return JSON.parse(ended.stdout);
  };
  const failed = async (name: string, env: Environment, ...words: readonly string[]) => {
    const ended = await flywheelHere(machine(name, env), ...words, '--json');
    return { exit: ended.exit, ...problemOf(ended) };
  };
  const register = ({ mint }: { readonly mint: string }, ...more: readonly string[]): string[] => [
    ...['register', '--cluster', node.url, '--mint', mint, '--owner', project.owner.address],
    ...['--operator-keypair', project.files.operator, '--daily-burn', '100', '--yes', ...more],
  ];
  const fund = (mint: string, { registration: { burnWallet: to } }: Registered): Promise<void> =>
    sendByTreasury(node.url, mint, { to, tokens: 50n, lamports: 10_000_000n });
  const close = async (): Promise<void> => {
    await closeTestNodes();
    await postgres.stop();
  };
  return { project, node, home, machine, run, failed, register, fund, close };
}
