/** A machine of real processes: the built command line in a HOME of its own, with real files, full disks, closed pipes and signals. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../fuzz/random.js';
import { Broken } from '../simulation/audit/auditor.js';
import type { Ended, Started, Typed, Workplace } from '../simulation/workplace.js';
import { serve } from '../support/http-serve.js';

/** What happens to one command. */
type Fault =
  | { readonly kind: 'none' | 'full' }
  /** A signal after this share, in thousandths, of the time that such a command takes. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals; readonly share: number }
  /** A signal before or after the commit of this number. */
  | { readonly kind: 'commit'; readonly signal: NodeJS.Signals; readonly point: number }
  /** Its reader takes only so many bytes. */
  | { readonly kind: 'head'; readonly bytes: number }
  /** No file may grow by more than so many KiB beyond one of the databases. */
  | { readonly kind: 'disk'; readonly kib: number; readonly file: number };

export interface Site {
  /** The HOME of all commands, where they are typed. */
  readonly home: string;
  readonly dataDir: string;
  /** Set for commands that are typed, and not for lines that are pasted. */
  readonly env: Readonly<Record<string, string>>;
  /** Draws the faults. */
  readonly random: Random;
  say(line: string): void;
  /** Looks at the books. @throws Broken */
  look(by: string): void;
  /** Names of the items that a command has landed. */
  landedBy(name: string): readonly string[];
}

const ROOT = process.cwd();
const FAULT_POINTS = `--require=${join(ROOT, 'test/support/fault-points.cjs')}`;
/** A command that takes longer hangs. */
const TIMEOUT_MS = 120_000;
const USUAL_MS = 300;
const HOUR_MS = 3_600_000;
const RESUME = /flywheel pending resume [0-9a-f]{8}/;
/** Exits with which a command says that nothing of it was done, unless it says how to go on. */
const NOTHING_DONE: ReadonlySet<number | null> = new Set([2, 4, 5, 6, 9]);
const SIGNALS = ['SIGKILL', 'SIGKILL', 'SIGKILL', 'SIGINT', 'SIGTERM'] as const;
/** Most commits of a command come early, where it looks things up; each has two points. */
const MAX_POINTS = [12, 30, 80] as const;

/** Puts a `flywheel` on the PATH of a HOME. */
export function installFlywheel(home: string): void {
  mkdirSync(join(home, 'bin'), { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'bin/flywheel.js')}' "$@"\n`;
  writeFileSync(join(home, 'bin/flywheel'), script, { mode: 0o755 });
}

function drawFault(random: Random): Fault {
  const signal = random.pick(SIGNALS);
  const faults: readonly Fault[] = [
    { kind: 'signal', signal, share: random.below(1_100) },
    { kind: 'signal', signal, share: random.below(1_100) },
    { kind: 'commit', signal, point: 1 + random.below(random.pick(MAX_POINTS)) },
    { kind: 'commit', signal, point: 1 + random.below(random.pick(MAX_POINTS)) },
    { kind: 'full' },
    { kind: 'head', bytes: random.pick([0, 1, 40]) },
    { kind: 'disk', kib: random.below(64), file: random.below(3) },
  ];
  const fault = random.pick(faults);
  return random.oneIn(2) ? fault : { kind: 'none' };
}

interface Finished extends Ended {
  readonly signal: NodeJS.Signals | null;
}

export class CommandMachine implements Workplace {
  readonly #site: Site;
  readonly #running = new Set<string>();
  readonly #tookMs = new Map<string, number>();
  readonly #faults = new Map<string, number>();
  /** Several ran beside each other, so that nobody knows which of them has landed what. */
  #isMixed = false;
  #isCalm = false;
  #aheadMs = 0;
  #count = 0;

  constructor(site: Site) {
    this.#site = site;
  }

  get commands(): number {
    return this.#count;
  }

  /** How many commands met each fault. */
  get faults(): ReadonlyMap<string, number> {
    return this.#faults;
  }

  async turn(): Promise<void> {}

  calm(): void {
    this.#isCalm = true;
  }

  /** Less than an hour really goes by. */
  async pass(ms: number): Promise<void> {
    if (ms < HOUR_MS) return;
    this.#aheadMs += ms;
    this.#site.say(`the clock is set ${this.#aheadMs} ms ahead`);
  }

  async setUp(words: readonly string[]): Promise<void> {
    const typed = { words: [...words, '--local', '--json'], isTerminal: false };
    const { exit, stderr } = await this.#spawn(
      typed,
      { kind: 'none' },
      { FLYWHEEL_DATA_DIR: this.#site.dataDir },
    );
    if (exit !== 0) throw new Error(`${words.join(' ')} ended ${exit}: ${stderr}`);
  }

  async serve(): Promise<void> {
    const { home, dataDir, look } = this.#site;
    const server = await serve({ home, dataDir, env: this.#clock() });
    await server.end('SIGTERM');
    look('a service');
  }

  start(name: string): Started {
    this.#count += 1;
    const own = `${name}-${this.#count}`;
    return { name: own, run: (typed) => this.#run(own, typed) };
  }

  async #run(name: string, typed: Typed): Promise<Ended> {
    const { random, say, look, env } = this.#site;
    const drawn = drawFault(random);
    const fault: Fault = this.#isCalm ? { kind: 'none' } : drawn;
    if (fault.kind !== 'none') this.#faults.set(fault.kind, (this.#faults.get(fault.kind) ?? 0) + 1);
    const isAlone = this.#running.size === 0;
    if (isAlone) look('what went on');
    this.#isMixed = !isAlone;
    this.#running.add(name);
    say(`  ${name}: ${lineOf(typed)}  # ${JSON.stringify(fault)}`);
    const ended = await this.#spawn(typed, fault, env);
    this.#running.delete(name);
    look(this.#isMixed ? 'one of several' : name);
    const told = ended.stderr.trim().replaceAll('\n', ' | ').slice(0, 600);
    say(`  ${name} ends: ${ended.signal ?? ended.exit} ${told}`);
    this.#check(name, typed, fault, ended);
    return ended;
  }

  /** What holds for the end of any command. @throws Broken */
  #check(name: string, typed: Typed, { kind }: Fault, { exit, stderr }: Finished): void {
    const line = lineOf(typed);
    const isResumable = RESUME.test(stderr);
    const isPending = typed.words[0] === 'pending';
    const isOfOutput = kind === 'full' || kind === 'head' || kind === 'disk';
    if (exit === 1 && !isOfOutput) throw new Broken('internal error', `\`${line}\`: ${stderr}`);
    // An approval that was asked for changes nothing, so that there is nothing to resume.
    if (exit === 7 && !isResumable && !isPending && typed.words[1] !== 'approve')
      throw new Broken('resume line', `exit 7 of \`${line}\`: ${stderr}`);
    if (exit === 0 && !isPending && kind === 'full')
      throw new Broken('output', `exit 0 of \`${line}\`, of which nothing was printed`);
    const landed = this.#site.landedBy(name);
    // Of several operations the first that failed gives the exit.
    if (NOTHING_DONE.has(exit) && !isResumable && !isPending && landed.length > 0)
      throw new Broken('nothing done', `exit ${exit} of \`${line}\`, which has landed ${landed.join(', ')}`);
  }

  #spawn(typed: Typed, fault: Fault, env: Readonly<Record<string, string>>): Promise<Finished> {
    const { home } = this.#site;
    const kind = typed.words.slice(0, 2).join(' ');
    const usualMs = this.#tookMs.get(kind) ?? USUAL_MS;
    const startedMs = performance.now();
    const isPasted = typed.line !== undefined;
    const child = spawn('bash', ['-c', this.#script(typed, fault), 'flywheel', ...typed.words], {
      cwd: isPasted ? tmpdir() : home,
      env: {
        HOME: home,
        PATH: `${join(home, 'bin')}:${process.env['PATH']}`,
        TMPDIR: home,
        ...(isPasted ? {} : env),
        ...this.#clock(),
        ...commitEnvironment(fault),
      },
    });
    const parts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => {
        parts[name] += chunk.toString('utf8');
      });
    child.stdin.end();
    const timer =
      fault.kind === 'signal'
        ? setTimeout(() => child.kill(fault.signal), (usualMs * fault.share) / 1_000)
        : undefined;
    let isHanging = false;
    const timeout = setTimeout(() => {
      isHanging = true;
      child.kill('SIGKILL');
    }, TIMEOUT_MS);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exit, signal) => {
        clearTimeout(timer);
        clearTimeout(timeout);
        if (isHanging) reject(new Broken('hangs', `${lineOf(typed)}: ${parts.stderr}`));
        if (signal === null && exit !== 130) this.#tookMs.set(kind, performance.now() - startedMs);
        resolve({ exit, signal, ...parts });
      });
    });
  }

  /** The command in a shell that becomes it, so that a signal meets nothing else. */
  #script({ line }: Typed, fault: Fault): string {
    const command = line ?? 'flywheel "$@"';
    switch (fault.kind) {
      case 'full':
        return `exec ${command} >/dev/full`;
      case 'head':
        return `${command} | head -c ${fault.bytes} >/dev/null; exit "\${PIPESTATUS[0]}"`;
      case 'disk':
        return `ulimit -f ${this.#largestKib(fault.file) + fault.kib}; exec ${command}`;
      default:
        return `exec ${command}`;
    }
  }

  /** The size of one of the databases. */
  #largestKib(file: number): number {
    const { dataDir } = this.#site;
    const sizes = readdirSync(dataDir)
      .filter((name) => name.endsWith('.db'))
      .sort()
      .map((name) => statSync(join(dataDir, name)).size);
    return Math.ceil((sizes[file % Math.max(1, sizes.length)] ?? 0) / 1_024);
  }

  #clock(): Record<string, string> {
    if (this.#aheadMs === 0) return {};
    return { NODE_OPTIONS: FAULT_POINTS, FAULT_CLOCK_AHEAD_MS: String(this.#aheadMs) };
  }
}

const commitEnvironment = (fault: Fault): Record<string, string> =>
  fault.kind === 'commit'
    ? { NODE_OPTIONS: FAULT_POINTS, FAULT_SIGNAL: fault.signal, FAULT_POINT: String(fault.point) }
    : {};

const quoted = (word: string): string => (/^[\w./:=@-]+$/.test(word) ? word : `'${word}'`);
const lineOf = ({ words, line }: Typed): string => line ?? ['flywheel', ...words].map(quoted).join(' ');
