/** Measures whole processes: the built command line against another Node process, usually an empty one, in pairs, by medians. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type BenchRatio, median } from './ratio.js';

const PAIRS = 15;
const POLL_MS = 2;

interface ProcessRun {
  readonly ms: number;
  /** Peak resident memory; 0 without /proc. */
  readonly peakMib: number;
}

function peakMib(pid: number): number {
  try {
    const found = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(found?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

export function runNode(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  watchMemory = false,
): Promise<ProcessRun> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let peak = 0;
    let told = '';
    const watch = watchMemory
      ? setInterval(() => (peak = Math.max(peak, peakMib(child.pid ?? 0))), POLL_MS)
      : undefined;
    child.stderr.on('data', (chunk) => (told += String(chunk)));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(watch);
      if (code === 0) resolve({ ms: performance.now() - start, peakMib: peak });
      else reject(new Error(`node ${args.join(' ')} ended with ${code}: ${told}`));
    });
  });
}

type Command = readonly [args: readonly string[], env: NodeJS.ProcessEnv];

/** Median duration of one command divided by another's, run in turn. */
export async function besides(command: Command, other: Command): Promise<number> {
  const own: number[] = [];
  const others: number[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const a = await runNode(...command);
    const b = await runNode(...other);
    // The first pair only warms the file cache.
    if (pair === 0) continue;
    own.push(a.ms);
    others.push(b.ms);
  }
  return median(own) / median(others);
}

export const besideBareNode = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  besides([args, env], [['-e', '0'], env]);

export async function benchStart(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const rows: BenchRatio[] = [];
  for (const [words, target] of [
    ['--version', 1.2],
    ['--help', 2.4],
    ['burn --help', 2.4],
  ] as const) {
    const ratio = await besideBareNode([bin, ...words.split(' ')], env);
    rows.push({ name: `flywheel ${words} : node -e 0`, ratio, target });
  }
  return rows;
}
