/** Prepares homes with a project and a profile, each sort once, and copies them for every world. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../fuzz/random.js';
import type { Opening } from './audit/auditor.js';
import { Faults, NO_FAULTS } from './faults.js';
import { DECIMALS } from './goods.js';
import type { World } from './kinds.js';
import { Machine } from './machine.js';
import type { Wallets } from './others.js';
import { seedPlatform } from './platform.js';
import type { ChainWatch } from './ports.js';
import { Scheduler } from './scheduler.js';

type Setting = Pick<World, 'vaultTokens' | 'burnCap'>;

type Made = Readonly<
  Record<'mintAddress' | 'multisig' | 'operator' | 'vaultAddress' | 'burnWallet', string>
> & {
  readonly owner: { readonly address: string };
  readonly apiKey: { readonly file: string };
};

/** Whole tokens a day. */
const AIRDROP_CAP = 60;
const BURN_WALLET_TOKENS = '4000';
const UNITS = 10n ** BigInt(DECIMALS);

const initWords = ({ vaultTokens, burnCap }: Setting): readonly string[] => [
  ...['local', 'init', '--decimals', String(DECIMALS)],
  ...['--daily-burn', String(burnCap), '--daily-airdrop', String(AIRDROP_CAP)],
  ...['--vault-tokens', String(vaultTokens), '--burn-wallet-tokens', BURN_WALLET_TOKENS],
];

/** Creates a profile with all pins; the API key comes from standard input. */
const profileWords = (made: Made, apiUrl: string): readonly string[] => [
  ...['profile', 'add', 'sim', '--api-url', apiUrl, '--api-key-stdin'],
  ...['--multisig', made.multisig, '--owner', made.owner.address],
  ...['--operator', made.operator, '--mint', made.mintAddress],
];

/** Pins the members and the token's properties as they are on chain. */
const PIN_WORDS: readonly string[] = ['profile', 'pin', '--yes'];

const openingOf = ({ multisig, mintAddress }: Made, { burnCap }: Setting): Opening => ({
  multisig,
  mint: mintAddress,
  burnCap: BigInt(burnCap) * UNITS,
  airdropCap: BigInt(AIRDROP_CAP) * UNITS,
});

export interface Template {
  readonly home: string;
  readonly opening: Opening;
  readonly wallets: Wallets;
}

export const START_MS = Date.parse('2026-01-31T22:30:00.000Z');
export const BASE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const MAX_STEPS = 60_000;

const NOBODY = { moveTokens: () => undefined };
const nowhere: ChainWatch = { landed: () => undefined, onTheWay: () => undefined };
const templates = new Map<string, Promise<Template>>();

export function templateOf(setting: Setting): Promise<Template> {
  const name = `${setting.vaultTokens} ${setting.burnCap}`;
  const made = templates.get(name) ?? make(setting);
  templates.set(name, made);
  return made;
}

/** Runs commands without faults and outside of virtual time. */
async function setUp(home: string, commands: readonly (readonly string[])[], stdin = ''): Promise<string[]> {
  const scheduler = new Scheduler(new Random(1), START_MS, () => undefined);
  const faults = new Faults(new Random(1), NO_FAULTS, () => undefined);
  const machine = new Machine(
    { home, dataDir: join(home, 'data') },
    { scheduler, faults, others: NOBODY },
    // `profile add` prepares the homes of remote worlds.
    { isRemote: stdin !== '', random: new Random(1), watch: nowhere },
  );
  const outputs: string[] = [];
  const work = async (): Promise<void> => {
    for (const words of commands) {
      const typed = { words: [...words, '--json'], isTerminal: false, stdin };
      const { exit, stdout, stderr } = await machine.run(machine.spawn('set-up'), typed);
      if (exit !== 0) throw new Error(`${words.join(' ')} ended ${exit}: ${stderr}`);
      outputs.push(stdout);
    }
  };
  const [worked] = await Promise.allSettled([work(), scheduler.run(() => undefined, MAX_STEPS)]);
  if (worked.status === 'rejected') throw worked.reason;
  return outputs;
}

async function make(setting: Setting): Promise<Template> {
  seedPlatform(new Random(7), () => START_MS);
  const home = mkdtempSync(join(BASE, 'flywheel-sim-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  const [text = ''] = await setUp(home, [initWords(setting)]);
  const made = JSON.parse(text) as Made;
  cpSync(join(home, 'data', 'owner.json'), join(home, 'owner.json'));
  await setUp(
    home,
    [profileWords(made, 'http://127.0.0.1:8080'), PIN_WORDS],
    readFileSync(made.apiKey.file, 'utf8'),
  );
  const wallets = { vault: made.vaultAddress, burnWallet: made.burnWallet };
  return { home, opening: openingOf(made, setting), wallets };
}
