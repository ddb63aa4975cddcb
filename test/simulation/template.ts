/** Homes with a flywheel and a profile in them, each sort made once and copied for every world. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../fuzz/random.js';
import type { Opening } from './audit/auditor.js';
import { Faults, NO_FAULTS } from './faults.js';
import { DECIMALS } from './goods.js';
import type { World as Drawn } from './kinds.js';
import { Machine } from './machine.js';
import type { Wallets } from './others.js';
import { seedPlatform } from './platform.js';
import type { ChainWatch } from './ports.js';
import { Scheduler } from './scheduler.js';

export interface Template {
  readonly home: string;
  readonly opening: Opening;
  readonly wallets: Wallets;
}

export const START_MS = Date.parse('2026-01-31T22:30:00.000Z');
export const BASE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** Whole tokens that may be given away a day. */
const AIRDROP_CAP = 60;
const BURN_WALLET_TOKENS = '4000';
const UNITS = 10n ** BigInt(DECIMALS);
const MAX_STEPS = 60_000;

const NOBODY = { passBlocks: () => undefined, moveTokens: () => undefined };
const nowhere: ChainWatch = { landed: () => undefined, onTheWay: () => undefined };
const templates = new Map<string, Promise<Template>>();

/** The template of a world. */
export function templateOf(drawn: Pick<Drawn, 'vaultTokens' | 'burnCap'>): Promise<Template> {
  const name = `${drawn.vaultTokens} ${drawn.burnCap}`;
  const made = templates.get(name) ?? make(drawn);
  templates.set(name, made);
  return made;
}

/** Runs commands without faults, outside of any world's time. */
async function setUp(home: string, commands: readonly (readonly string[])[], stdin = ''): Promise<string[]> {
  const scheduler = new Scheduler(new Random(1), START_MS, () => undefined);
  const faults = new Faults(new Random(1), new Set(), NO_FAULTS, () => undefined);
  const machine = new Machine(
    { home, dataDir: join(home, 'data') },
    { scheduler, faults, others: NOBODY },
    // `profile add` writes for those who will be remote.
    { isRemote: stdin !== '', random: new Random(1), watch: nowhere },
  );
  const outputs: string[] = [];
  const work = async (): Promise<void> => {
    for (const words of commands) {
      const typed = { words: [...words, '--json'], isTerminal: false, stdin };
      const { exit, stdout, stderr } = await machine.run(machine.spawn('set-up', true), typed);
      if (exit !== 0) throw new Error(`${words.join(' ')} ended ${exit}: ${stderr}`);
      outputs.push(stdout);
    }
  };
  const [worked] = await Promise.allSettled([work(), scheduler.run(() => undefined, MAX_STEPS)]);
  if (worked.status === 'rejected') throw worked.reason;
  return outputs;
}

async function make({ vaultTokens, burnCap }: Pick<Drawn, 'vaultTokens' | 'burnCap'>): Promise<Template> {
  seedPlatform(new Random(7), () => START_MS);
  const home = mkdtempSync(join(BASE, 'flywheel-sim-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  const [text = ''] = await setUp(home, [
    [
      ...['local', 'init', '--decimals', String(DECIMALS)],
      ...['--daily-burn', String(burnCap), '--daily-airdrop', String(AIRDROP_CAP)],
      ...['--vault-tokens', String(vaultTokens), '--burn-wallet-tokens', BURN_WALLET_TOKENS],
    ],
  ]);
  const made = JSON.parse(text) as Record<
    'mintAddress' | 'multisig' | 'operator' | 'vaultAddress' | 'burnWallet',
    string
  > & {
    owner: { address: string };
    apiKey: { key: string };
  };
  cpSync(join(home, 'data', 'owner.json'), join(home, 'owner.json'));
  const pins = {
    multisig: made.multisig,
    owner: made.owner.address,
    operator: made.operator,
    mint: made.mintAddress,
  };
  const profile = ['profile', 'add', 'sim', '--api-url', 'http://127.0.0.1:8080', '--api-key-stdin'];
  const words = [...profile, ...Object.entries(pins).flatMap(([pin, value]) => [`--${pin}`, value])];
  await setUp(home, [words], made.apiKey.key);
  const opening = {
    mint: made.mintAddress,
    burnCap: BigInt(burnCap) * UNITS,
    airdropCap: BigInt(AIRDROP_CAP) * UNITS,
  };
  return { home, opening, wallets: { vault: made.vaultAddress, burnWallet: made.burnWallet } };
}
