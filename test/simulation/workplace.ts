/** The machine on which persons type: simulated, or real with the built command line. */

export interface Ended {
  /** `null`: killed. */
  readonly exit: number | null;
  /** Flushed output only, if the process was killed. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface Typed {
  readonly words: readonly string[];
  readonly isTerminal: boolean;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** As printed, for a shell. */
  readonly line?: string;
  /** Names the data directory by its alias, if it has one. */
  readonly isAlias?: boolean;
}

export interface Started {
  readonly name: string;
  run(typed: Typed): Promise<Ended>;
}

export interface Workplace {
  turn(person: { readonly name: string }, label: string): Promise<void>;
  start(name: string): Started;
  /** Runs a set-up command. @throws if it fails */
  setUp(words: readonly string[]): Promise<void>;
  /** Starts a service, which resolves unfinished work. */
  serve(): Promise<void>;
  calm(): void;
  pass(ms: number): Promise<void>;
}
