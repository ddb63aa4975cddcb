/**
 * A machine of real processes: the built command line in a HOME of its own, its files, its pipes and its signals. A shell runs
 * each command, as a person's does.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Broken } from '../simulation/audit/auditor.js';
import type { Ended, Started, Typed, Workplace } from '../simulation/workplace.js';
import { serve } from '../support/http-serve.js';
import type { CommandFault, CommandFaults } from './command-faults.js';
import type { CommandService } from './command-service.js';

/** What commands of a world need to know. */
export interface Site {
  /** Their HOME, and where they are typed. */
  readonly home: string;
  readonly dataDir: string;
  /** Set for those that are typed, and not for lines that are pasted. */
  readonly env: Readonly<Record<string, string>>;
  readonly faults: CommandFaults;
  /** `null`: the embedded engine. */
  readonly service: CommandService | null;
  /** How far the clock of this world is ahead. */
  readonly clock: { aheadMs: number };
  say(line: string): void;
  /** Looks at the books. @throws Broken */
  look(by: string): void;
  /** Names of what somebody has brought. */
  landedBy(name: string): readonly string[];
}

const ROOT = process.cwd();
const FAULT_POINTS = join(ROOT, 'test/support/fault-points.cjs');
/** A command that takes longer hangs. */
const PATIENCE_MS = 120_000;
const USUAL_MS = 300;
const HOUR_MS = 3_600_000;
const RESUME = /flywheel pending resume [0-9a-f]{8}/;
/** Faults of the machine itself, of which a command may say that they are none of its own. */
const OF_OUTPUT: ReadonlySet<CommandFault['kind']> = new Set(['full', 'closed', 'head', 'disk', 'blocked']);
/** Exits with which a command says that nothing of it was done, unless it says how to go on. */
const NOTHING_DONE: ReadonlySet<number | null> = new Set([2, 4, 5, 6, 9]);

/** The environment of a process of such a world beside where its files are. */
export const clockEnvironment = (aheadMs: number): Record<string, string> =>
  aheadMs === 0 ? {} : { NODE_OPTIONS: `--require=${FAULT_POINTS}`, FAULT_CLOCK_AHEAD_MS: String(aheadMs) };

/** Puts a `flywheel` on the PATH of a HOME. */
export function installFlywheel(home: string): void {
  mkdirSync(join(home, 'bin'), { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'bin/flywheel.js')}' "$@"\n`;
  writeFileSync(join(home, 'bin/flywheel'), script, { mode: 0o755 });
}

interface Finished extends Ended {
  readonly signal: NodeJS.Signals | null;
}

export class CommandMachine implements Workplace {
  readonly #site: Site;
  readonly #running = new Set<string>();
  readonly #tookMs = new Map<string, number>();
  /** Several ran beside each other, so that nobody knows which of them has brought what. */
  #isMixed = false;
  #count = 0;
  kills = 0;

  constructor(site: Site) {
    this.#site = site;
  }

  get commands(): number {
    return this.#count;
  }

  async turn(): Promise<void> {
    await this.#site.service?.ready();
  }

  calm(): void {
    this.#site.faults.stop();
  }

  /** Less than an hour is nothing here: what has to go by of it really does. */
  async pass(ms: number): Promise<void> {
    if (ms < HOUR_MS) return;
    this.#site.clock.aheadMs += ms;
    this.#site.say(`the clock is set ${this.#site.clock.aheadMs} ms ahead`);
    await this.#site.service?.restart();
  }

  async setUp(words: readonly string[]): Promise<void> {
    const typed = { words: [...words, '--local', '--json'], isTerminal: false };
    const env = { FLYWHEEL_DATA_DIR: this.#site.dataDir };
    const { exit, stderr } = await this.#spawn(typed, { kind: 'none' }, env);
    if (exit !== 0) throw new Error(`${words.join(' ')} ended ${exit}: ${stderr}`);
  }

  async serve(): Promise<void> {
    const { home, dataDir, service, clock } = this.#site;
    if (service === null) {
      const server = await serve({ home, dataDir, env: clockEnvironment(clock.aheadMs) });
      await server.end('SIGTERM');
    } else await service.restart();
    this.#site.look('a service');
  }

  start(name: string): Started {
    this.#count += 1;
    const own = `${name}-${this.#count}`;
    return { name: own, run: (typed) => this.#run(own, typed) };
  }

  async #run(name: string, typed: Typed): Promise<Ended> {
    const { faults, service, say, look } = this.#site;
    const fault = faultOf(faults.command(), typed.words);
    faults.count(fault);
    faults.changeMood();
    const isAlone = this.#running.size === 0 && (service === null || service.gate.open === 0);
    if (isAlone) look('what went on');
    this.#isMixed = !isAlone || (this.#isMixed && this.#running.size > 0);
    this.#running.add(name);
    say(`  ${name}: ${lineOf(typed)}  # ${JSON.stringify(fault)}`);
    const twin = fault.kind === 'twin' ? this.#spawn(typed, { kind: 'none' }, this.#site.env) : undefined;
    const [ended, other] = await Promise.all([this.#spawn(typed, fault, this.#site.env), twin]);
    this.#running.delete(name);
    look(this.#isMixed ? 'one of several' : name);
    for (const one of other === undefined ? [ended] : [ended, other]) {
      say(
        `  ${name} ends: ${one.signal ?? one.exit} ${one.stderr.trim().replaceAll('\n', ' | ').slice(0, 600)}`,
      );
      this.#check(typed, fault, one);
    }
    this.#checkNothing(name, typed, ended);
    return ended;
  }

  /** What holds for the end of any command. */
  #check({ words }: Typed, { kind }: CommandFault, { exit, stderr }: Finished): void {
    const line = words.join(' ');
    const isResumable = RESUME.test(stderr);
    if (exit === 1 && !OF_OUTPUT.has(kind)) throw new Broken('internal error', `\`${line}\`: ${stderr}`);
    // An approval that was asked for changes nothing, so that there is nothing to resume.
    if (exit === 7 && !isResumable && words[0] !== 'pending' && words[1] !== 'approve')
      throw new Broken('resume line', `exit 7 of \`${line}\`: ${stderr}`);
    const isPrinting = words[0] !== 'pending';
    if (exit === 0 && isPrinting && kind === 'full')
      throw new Broken('output', `exit 0 of \`${line}\`, of which nothing was printed`);
  }

  /** A command that says that nothing of it was done has brought nothing. */
  #checkNothing(name: string, typed: Typed, ended: Ended): void {
    const landed = this.#site.landedBy(name);
    const says = NOTHING_DONE.has(ended.exit) && !RESUME.test(ended.stderr);
    // Of several operations the first that failed gives the exit.
    if (!says || landed.length === 0 || typed.words[0] === 'pending') return;
    throw new Broken(
      'nothing done',
      `exit ${ended.exit} of \`${lineOf(typed)}\`, which has landed ${landed.join(', ')}`,
    );
  }

  #spawn(typed: Typed, fault: CommandFault, env: Readonly<Record<string, string>>): Promise<Finished> {
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
        ...clockEnvironment(this.#site.clock.aheadMs),
        ...commitEnvironment(fault),
      },
    });
    const parts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => {
        parts[name] += chunk.toString('utf8');
      });
    child.stdin.end();
    const after = (share: number, act: () => void) => setTimeout(act, (usualMs * share) / 1_000);
    const blocked = blockedPath(home, typed.words);
    const timers = [
      ...(fault.kind === 'signal' ? [after(fault.share, () => void child.kill(fault.signal))] : []),
      ...(fault.kind === 'blocked' && blocked !== undefined
        ? [after(fault.share, () => block(blocked))]
        : []),
    ];
    let isHanging = false;
    const patience = setTimeout(() => {
      isHanging = true;
      child.kill('SIGKILL');
    }, PATIENCE_MS);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exit, signal) => {
        for (const timer of [...timers, patience]) clearTimeout(timer);
        if (fault.kind === 'blocked' && blocked !== undefined) unblock(blocked);
        if (isHanging) reject(new Broken('hangs', `${lineOf(typed)}: ${parts.stderr}`));
        if (signal !== null || exit === 130) this.kills += 1;
        else this.#tookMs.set(kind, performance.now() - startedMs);
        resolve({ exit, signal, ...parts });
      });
    });
  }

  /** The command in a shell that becomes it, so that a signal meets nothing else. */
  #script({ line }: Typed, fault: CommandFault): string {
    const command = line ?? 'flywheel "$@"';
    switch (fault.kind) {
      case 'full':
        return `exec ${command} >/dev/full`;
      case 'closed':
        return `exec ${command} >&-`;
      case 'head':
        return `${command} | head -c ${fault.bytes} >/dev/null; exit "\${PIPESTATUS[0]}"`;
      case 'disk':
        return `ulimit -f ${this.#largestKib(fault.file) + fault.kib}; exec ${command}`;
      default:
        return `exec ${command}`;
    }
  }

  /** The size of one of the databases, beyond which a file may not grow. */
  #largestKib(file: number): number {
    const { dataDir } = this.#site;
    if (!existsSync(dataDir)) return 0;
    const sizes = readdirSync(dataDir)
      .filter((name) => name.endsWith('.db'))
      .sort()
      .map((name) => statSync(join(dataDir, name)).size);
    return Math.ceil((sizes[file % Math.max(1, sizes.length)] ?? 0) / 1_024);
  }
}

/** What befalls a command, of all that could befall it. */
function faultOf(fault: CommandFault, words: readonly string[]): CommandFault {
  // What is meant to be done anew each time is not typed twice.
  const isNewEachTime = (words[0] === 'burn' && !words.includes('--once')) || words.includes('--again');
  if (fault.kind === 'twin' && isNewEachTime) return { kind: 'none' };
  if (fault.kind === 'blocked' && blockedPath('', words) === undefined) return { kind: 'none' };
  return fault;
}

const commitEnvironment = (fault: CommandFault): Record<string, string> =>
  fault.kind === 'commit'
    ? {
        NODE_OPTIONS: `--require=${FAULT_POINTS}`,
        FAULT_SIGNAL: fault.signal,
        FAULT_POINT: String(fault.point),
      }
    : {};

/** The file that a command is to write. */
function blockedPath(home: string, words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word === '--failed-out' || word === '--out');
  const name = at < 0 ? undefined : words[at + 1];
  return name === undefined ? undefined : join(home, name);
}

function block(path: string): void {
  rmSync(path, { force: true, recursive: true });
  mkdirSync(path);
}

function unblock(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) rmSync(path, { recursive: true });
}

const quoted = (word: string): string => (/^[\w./:=@-]+$/.test(word) ? word : `'${word}'`);
const lineOf = ({ words, line }: Typed): string => line ?? ['flywheel', ...words].map(quoted).join(' ');
