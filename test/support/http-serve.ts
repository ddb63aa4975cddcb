/** Runs `flywheel serve` of the present build as a process on a free loopback port. */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyDirectory, flywheel, type Spawned, startFlywheel } from './spawn.js';

export interface ServedHome {
  readonly home: string;
  readonly dataDir: string;
  readonly key: string;
}

/** What `local init` has printed. */
export interface Made {
  readonly apiKey: { readonly id: string; readonly file: string };
  readonly multisig: string;
  readonly owner: { readonly address: string };
  readonly operator: string;
  readonly vaultAddress: string;
  readonly burnWallet: string;
  readonly mintAddress: string;
}

type InitiatedHome = ServedHome & { readonly made: Made };

export type ServeProcess = Awaited<ReturnType<typeof serve>>;

const environment = (dataDir: string): Record<string, string> => ({ FLYWHEEL_DATA_DIR: dataDir });

const templates = new Map<string, Promise<InitiatedHome>>();

/** A data directory with a registered project, made once a process and then copied. */
export async function initHome(...words: readonly string[]): Promise<InitiatedHome> {
  const name = words.join(' ');
  const template = templates.get(name) ?? makeHome(words);
  templates.set(name, template);
  return copyHome(await template);
}

async function makeHome(words: readonly string[]): Promise<InitiatedHome> {
  if (!existsSync('dist/start.cjs')) throw new TypeError('dist is missing; run `npm run build` first.');
  const home = emptyDirectory();
  const dataDir = join(home, 'data');
  const { stdout, stderr } = await flywheel(
    { home, env: environment(dataDir) },
    'local',
    'init',
    '--json',
    ...words,
  );
  if (stdout === '') throw new TypeError(`local init failed: ${stderr}`);
  const made = JSON.parse(stdout) as Made;
  return { home, dataDir, made, key: readFileSync(made.apiKey.file, 'utf8').trim() };
}

/** The home must have no open server. */
export function copyHome<Home extends ServedHome>(of: Home): Home {
  const home = emptyDirectory();
  const dataDir = join(home, 'data');
  cpSync(of.dataDir, dataDir, { recursive: true });
  return { ...of, home, dataDir };
}

type Place = Pick<ServedHome, 'home' | 'dataDir'> & { readonly env?: Record<string, string> };

type End = Pick<Spawned, 'exit' | 'signal'>;

const serving = new Set<{ end(signal: 'SIGKILL'): Promise<End> }>();

/** Kills what {@link serve} and {@link listening} have started and nothing has ended. */
export async function killServers(): Promise<void> {
  for (const server of serving) await server.end('SIGKILL');
}

export const serve = (place: Place, ...words: string[]) => listening(place, 'serve', '--port', '0', ...words);

export async function listening({ home, dataDir, env }: Place, ...words: readonly string[]) {
  const child = startFlywheel({ home, env: { ...environment(dataDir), ...env } }, [...words, '--json']);
  let [stdout, stderr] = ['', ''];
  const ended = new Promise<End>((resolve) => {
    child.once('close', (exit, signal) => resolve({ exit, signal }));
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  await new Promise<void>((resolve, reject) => {
    void ended.then(() => reject(new TypeError(`${words[0]} ended: ${stderr}`)));
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      if (stdout.includes('\n')) resolve();
    });
  });
  const server = {
    url: (JSON.parse(stdout) as { url: string }).url,
    child,
    log: () => stderr,
    end: (signal: NodeJS.Signals): Promise<End> => {
      child.kill(signal);
      return ended;
    },
  };
  serving.add(server);
  void ended.then(() => serving.delete(server));
  return server;
}

export const ask = (
  url: string,
  key: string,
  init: { readonly body?: unknown; readonly idempotencyKey?: string; readonly signal?: AbortSignal } = {},
): Promise<Response> =>
  fetch(url, {
    method: init.body === undefined ? 'GET' : 'POST',
    headers: {
      'x-service-api-key': key,
      ...(init.body !== undefined && { 'content-type': 'application/json' }),
      ...(init.idempotencyKey !== undefined && { 'x-idempotency-key': init.idempotencyKey }),
    },
    body: JSON.stringify(init.body) ?? null,
    signal: init.signal ?? null,
  });
