/** Commands that read or approve the honest batch of the attacks. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Limits } from '../../../src/approval/limits.js';
import type { Pins } from '../../../src/approval/pins.js';
import type { AccountState } from '../../../src/chain/account.js';
import type { ChainReader } from '../../../src/chain/chain.js';
import { createSimulator } from '../../../src/chain/local/simulator.js';
import type { OpenedService } from '../../../src/cli/context.js';
import type { Service } from '../../../src/contract/service.js';
import { accountsOf, FILE, honestWorld, type World } from '../../attacks/world.js';
import { only } from '../../support/doubles.js';
import { type TestCliOptions, testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';
import { ownerKeypair } from '../batch-on-chain.js';

export const HONEST_PINS = honestWorld().pins as Pins;

export function chainIn(world: World): ChainReader {
  const accounts = accountsOf(world);
  return only<ChainReader>({
    getAccounts: async (addresses) =>
      addresses.map((address) => {
        const found = accounts.get(address);
        return found === undefined ? null : ({ ...found, executable: false } as object as AccountState);
      }),
    isBlockhashValid: async () => true,
    latestBlockhash: async () => ({ blockhash: namedAddress('newer'), lastValidBlockHeight: 1n }),
    history: async () => [],
  });
}

/** Shared: a run leaves no state in the machine. */
const simulator = createSimulator();

export interface Approved {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The output with each sentence on one line, however the terminal wraps it. */
  readonly said: string;
  readonly questions: readonly string[];
  /** The error, if it was refused. */
  readonly message: string;
}

interface ApproveOptions {
  readonly answer?: string;
  /** Directory with the record of earlier approvals. */
  readonly home?: string;
  readonly limits?: Limits;
}

export const openedIn = (world: World): Partial<OpenedService> => ({
  kind: 'remote',
  chain: chainIn(world),
  // Approving calls no service.
  service: only<Service>({}),
  pins: world.pins as Pins,
  simulator: async () => simulator,
});

/** @returns the path of the approval file. */
export function approvalIn(home: string, world: World): string {
  const approval = join(home, 'approval.json');
  const proposalApproveTx = Buffer.from(world.wire).toString('base64');
  writeFileSync(approval, JSON.stringify({ batch: world.batch, proposalApproveTx }));
  return approval;
}

/** Runs `batch approve` in a world: as a script with `expecting`, otherwise on a terminal with this answer. */
export async function approve(
  world: World,
  { answer, home, limits }: ApproveOptions = {},
): Promise<Approved> {
  const isTerminal = answer !== undefined;
  const cli = testCli({
    ...(home === undefined ? {} : { home }),
    ...(isTerminal ? { tty: { stdin: true, stdout: true, stderr: true }, answers: [answer] } : {}),
    opened: openedIn(world),
  });
  if (limits !== undefined) writeProfile(cli.home, limits);
  const owned = join(cli.home, 'owner.json');
  writeFileSync(owned, JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  const expected = join(cli.home, 'pipelines.json');
  writeFileSync(expected, JSON.stringify(FILE));
  const words = ['batch', 'approve', approvalIn(cli.home, world), '--keypair', owned];
  const script = ['--expect', expected, '--yes', '--json'];
  const ended = await cli.run(...words, ...(isTerminal ? [] : script));
  return { ...ended, said: ended.stderr.replaceAll('\n   ', ' '), message: messageOf(ended.stderr) };
}

function writeProfile(home: string, limits: Limits): void {
  const directory = join(home, '.config', 'flywheel');
  mkdirSync(directory, { recursive: true });
  const profiles = { main: { limits } };
  writeFileSync(join(directory, 'profiles.json'), JSON.stringify({ current: 'main', profiles }));
}

/** Runs `batch inspect` in a world, in text output. */
export async function inspect(
  world: World,
  opened: Partial<OpenedService> = {},
  options: TestCliOptions = {},
): Promise<{ readonly exit: number; readonly stdout: string; readonly stderr: string }> {
  const cli = testCli({
    tty: { stdin: true, stdout: true, stderr: true },
    env: { NO_COLOR: '1' },
    opened: { ...openedIn(world), ...opened },
    ...options,
  });
  return cli.run('batch', 'inspect', approvalIn(cli.home, world));
}

function messageOf(stderr: string): string {
  const line = stderr.split('\n').find((text) => text.startsWith('{"error"'));
  return line === undefined ? stderr : String((JSON.parse(line) as { message: string }).message);
}
