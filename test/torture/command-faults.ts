/** What befalls the commands and requests of a world of real processes, and when: decided by the seed. */
import type { Random } from '../fuzz/random.js';

/**
 * What befalls one command. Of `closed` a command cannot know: Node puts /dev/null in the place of a standard output that is not
 * there, as others do who want to see none.
 */
export type CommandFault =
  | { readonly kind: 'none' | 'full' | 'closed' | 'twin' }
  /** A signal after this share, in thousandths, of the time that such a command takes. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals; readonly share: number }
  /** A signal before or after the commit of this number. */
  | { readonly kind: 'commit'; readonly signal: NodeJS.Signals; readonly point: number }
  /** Its reader takes only so many bytes. */
  | { readonly kind: 'head'; readonly bytes: number }
  /** No file may grow by more than so many KiB. */
  | { readonly kind: 'disk'; readonly kib: number; readonly file: number }
  /** A directory comes to stand where it writes a file. */
  | { readonly kind: 'blocked'; readonly share: number };

/** What becomes of one request between a client and its service. */
export type RequestFault =
  | { readonly kind: 'pass' | 'lose' | 'cut' | 'drop' | 'reset' }
  | { readonly kind: 'refuse'; readonly status: number }
  | { readonly kind: 'delay'; readonly ms: number }
  /** The service is sent a signal so many milliseconds after it was sent the request. */
  | { readonly kind: 'end'; readonly signal: NodeJS.Signals; readonly ms: number };

type Kind = Exclude<CommandFault['kind'], 'none'> | Exclude<RequestFault['kind'], 'pass'>;

/** Once in so many commands, or requests, each strikes, at 1; a seed scales each of them. */
const ONE_IN: Readonly<Record<Kind, number>> = {
  signal: 5,
  commit: 5,
  full: 14,
  closed: 20,
  head: 20,
  disk: 14,
  blocked: 4,
  twin: 10,
  lose: 9,
  cut: 20,
  drop: 24,
  reset: 24,
  refuse: 9,
  delay: 9,
  end: 14,
};
const SCALES = [0, 0.5, 1, 1, 2] as const;
const COMMANDS = ['signal', 'commit', 'full', 'closed', 'head', 'disk', 'blocked', 'twin'] as const;
const REQUESTS = ['lose', 'cut', 'drop', 'reset', 'refuse', 'delay', 'end'] as const;
const REFUSALS = [401, 403, 404, 413, 429, 503] as const;
/** Most points of a command come early, where it looks things up; each commit has two. */
const MAX_POINTS = [12, 30, 80] as const;
const MAX_DELAY_MS = 1_500;
const MAX_END_MS = 120;

/** Once in so many commands all of its requests meet the same. */
const MOOD_ONE_IN = 5;
/** Of its requests, once in so many meets something else. */
const EXCEPTION_ONE_IN = 6;

/** The faults of one world. */
export class CommandFaults {
  readonly #commands: Random;
  readonly #requests: Random;
  readonly #rates = new Map<Kind, number>();
  #on = true;
  #mood: RequestFault | undefined;
  /** How many of each have struck. */
  readonly counts = new Map<string, number>();

  constructor(commands: Random, requests: Random) {
    this.#commands = commands;
    this.#requests = requests;
    for (const kind of Object.keys(ONE_IN) as Kind[]) {
      // Some worlds know a fault not at all, some suffer from it all the time.
      const scale = commands.pick(SCALES);
      this.#rates.set(kind, scale === 0 ? 0 : Math.ceil(ONE_IN[kind] / scale));
    }
  }

  stop(): void {
    this.#on = false;
  }

  /** One has struck. */
  count({ kind }: CommandFault | RequestFault): void {
    if (kind !== 'none' && kind !== 'pass') this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  command(): CommandFault {
    const random = this.#commands;
    const kind = this.#draw(random, COMMANDS);
    switch (kind) {
      case undefined:
        return { kind: 'none' };
      case 'signal':
        return { kind, signal: signalOf(random), share: random.below(1_100) };
      case 'commit':
        return { kind, signal: signalOf(random), point: 1 + random.below(random.pick(MAX_POINTS)) };
      case 'head':
        return { kind, bytes: random.pick([0, 1, 40]) };
      case 'disk':
        return { kind, kib: random.below(64), file: random.below(3) };
      case 'blocked':
        return { kind, share: random.below(700) };
      default:
        return { kind };
    }
  }

  /** What all requests meet for a time, as when a network is down or a key is revoked; told when a command begins. */
  changeMood(): void {
    const random = this.#requests;
    const wasLost = this.#mood?.kind === 'lose';
    // Whoever mends a broken network often shuts the door first.
    const isBad = random.oneIn(wasLost ? 2 : MOOD_ONE_IN);
    const kind = wasLost ? 'refuse' : random.pick(['lose', 'lose', 'drop', 'refuse', 'refuse'] as const);
    const status = random.pick(REFUSALS);
    this.#mood = !isBad ? undefined : kind === 'refuse' ? { kind, status } : { kind };
  }

  request(): RequestFault {
    const random = this.#requests;
    const isException = random.oneIn(EXCEPTION_ONE_IN);
    const kind = this.#draw(random, REQUESTS);
    if (this.#on && this.#mood !== undefined && !isException) return this.#mood;
    switch (kind) {
      case undefined:
        return { kind: 'pass' };
      case 'refuse':
        return { kind, status: random.pick(REFUSALS) };
      case 'delay':
        return { kind, ms: random.below(MAX_DELAY_MS) };
      case 'end':
        return { kind, signal: random.pick(['SIGKILL', 'SIGKILL', 'SIGTERM']), ms: random.below(MAX_END_MS) };
      default:
        return { kind };
    }
  }

  /** Each kind is drawn each time, so that what strikes does not shift what follows. */
  #draw<Of extends Kind>(random: Random, of: readonly Of[]): Of | undefined {
    let struck: Of | undefined;
    for (const kind of of) {
      const rate = this.#rates.get(kind) ?? 0;
      if (rate > 0 && random.oneIn(rate)) struck ??= kind;
    }
    return this.#on ? struck : undefined;
  }
}

const signalOf = (random: Random): NodeJS.Signals =>
  random.pick(['SIGKILL', 'SIGKILL', 'SIGKILL', 'SIGINT', 'SIGTERM']);
