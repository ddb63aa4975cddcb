/** Where persons type commands: the simulated machine, or a real one with the built command line. */

/** What a command left for whoever typed it. */
export interface Ended {
  /** `null`: it was killed. */
  readonly exit: number | null;
  /** What had left the process by then. */
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is typed. */
export interface Typed {
  readonly words: readonly string[];
  readonly isTerminal: boolean;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The same as it was printed, to be pasted into a shell. */
  readonly line?: string;
  /** The data directory is given by its other name, where it has one. */
  readonly isAlias?: boolean;
}

/** A command that is about to run, under a name of its own. */
export interface Started {
  readonly name: string;
  run(typed: Typed): Promise<Ended>;
}

export interface Workplace {
  /** Waits until it is somebody's turn. */
  turn(person: { readonly name: string }, label: string): Promise<void>;
  start(name: string): Started;
  /** Something that is done to the flywheel itself, where it is. @throws when it fails */
  setUp(words: readonly string[]): Promise<void>;
  /** Starts a service, which settles what nobody brings again. */
  serve(): Promise<void>;
  /** From now on nothing goes wrong. */
  calm(): void;
  /** Lets time go by. */
  pass(ms: number): Promise<void>;
}
