/**
 * A signer whose key belongs to a program of the user. An answer counts only if the signature verifies for the registered
 * address; the program never chooses the address. Its command is split without a shell, so nothing in it is expanded.
 */
import { type Signer, verifySignature } from '../chain/transaction/sign.js';
import { SIGNATURE_BYTES } from '../chain/transaction/wire.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { base58Decode } from '../values/base58.js';
import { type ReadonlyBytes, readBuffer } from '../values/bytes.js';
import { inParallel } from '../values/event-loop.js';
import { SigningProcess } from './signing-process.js';

const MAX_PROCESSES = 8;
const SIGNATURE_TIMEOUT_MS = 30_000;
const CLOSED = 'flywheel was shutting down';

type ProcessTerms = ConstructorParameters<typeof SigningProcess>[0];

interface ProgramSignerOptions {
  readonly address: Address;
  readonly role: string;
  readonly words: ProcessTerms['words'];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** @default 30 s */
  readonly timeoutMs?: number | undefined;
  /** Aborting it ends all runs. */
  readonly signal?: AbortSignal | undefined;
}

/** The first message starts the program. */
export class ProgramSigner implements Signer {
  readonly address: Address;
  readonly #options: ProgramSignerOptions;
  readonly #terms: ProcessTerms;
  readonly #idle: SigningProcess[] = [];
  readonly #all = new Set<SigningProcess>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(options: ProgramSignerOptions) {
    this.#options = options;
    this.address = options.address;
    const { words, timeoutMs = SIGNATURE_TIMEOUT_MS } = options;
    this.#terms = { words, timeoutMs, env: environment(options) };
    options.signal?.addEventListener('abort', () => void this.close(), { once: true });
  }

  async #sign(message: ReadonlyBytes): Promise<Uint8Array> {
    await this.#turn();
    try {
      this.#requireOpen();
      return await this.#signWith(this.#idle.pop() ?? this.#start(), message);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /** Signs all messages, or stops at the first failure. */
  signAll(messages: readonly ReadonlyBytes[]): Promise<readonly Uint8Array[]> {
    return inParallel(messages, MAX_PROCESSES, (message) => this.#sign(message));
  }

  /** Busy runs are killed; idle ones end by the end of their input. Resolves when all have exited. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = this.#idle.splice(0);
    const busy = [...this.#all].filter((run) => !idle.includes(run));
    await Promise.all([...idle.map((run) => run.stop()), ...busy.map((run) => run.kill(CLOSED))]);
  }

  async #turn(): Promise<void> {
    if (this.#running < MAX_PROCESSES) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #requireOpen(): void {
    if (this.#options.signal?.aborted === true) throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');
    if (this.#isClosed) throw this.#failure(CLOSED);
  }

  #start(): SigningProcess {
    const run = new SigningProcess(this.#terms);
    this.#all.add(run);
    return run;
  }

  async #signWith(run: SigningProcess, message: ReadonlyBytes): Promise<Uint8Array> {
    const line = readBuffer(message).toString('base64');
    const answer = await run.ask(line);
    if (answer.kind === 'line') return this.#take(run, answer.line, message);
    this.#all.delete(run);
    this.#requireOpen();
    // A run that has answered before may exit at any time. A new run gets the message, and must answer at least once.
    if (answer.kind === 'ended') return this.#signWith(this.#start(), message);
    throw this.#failure(answer.reason, answer.said);
  }

  async #take(run: SigningProcess, line: string, message: ReadonlyBytes): Promise<Uint8Array> {
    const signature = signatureOf(line);
    if (signature !== undefined && verifySignature(this.address, message, signature)) {
      this.#idle.push(run);
      return signature;
    }
    // Further signatures of this run would not be trusted. Its output is not shown, because it may be a key.
    this.#all.delete(run);
    await run.kill('its answer is wrong');
    const { role } = this.#options;
    const what =
      signature === undefined
        ? `something that is not a signature (${line.length} characters)`
        : `a signature that is not ${this.address}'s for this message`;
    throw new FlywheelError(
      'ERR_SIGNATURE_WRONG',
      `The signing program of the ${role} answered with ${what}. That transaction was not sent.`,
      {
        hint: 'The program must sign the unchanged bytes of the message with Ed25519 and the key of that address.',
      },
    );
  }

  #failure(reason: string, said = ''): FlywheelError {
    const { role } = this.#options;
    return new FlywheelError(
      'ERR_SIGNER_FAILED',
      `The signing program of the ${role} ${this.address} returned no signature: ${reason}${said === '' ? '' : `, and printed “${said}”`}. That transaction was not sent.`,
    );
  }
}

/** Passes on the environment without the FLYWHEEL_ settings, some of which are secrets, plus the signing address. */
function environment({ env, address }: ProgramSignerOptions): NodeJS.ProcessEnv {
  const own = Object.entries(env).filter(([name]) => !name.startsWith('FLYWHEEL_'));
  return { ...Object.fromEntries(own), FLYWHEEL_SIGNER_ADDRESS: address };
}

/** 64 bytes in base64 always end like this; base58 never does. */
const BASE64 = /^[A-Za-z0-9+/]{86}==$/;
const MAX_BASE58 = 88;

/** @returns the 64 bytes, or `undefined` for any other text. */
function signatureOf(text: string): Uint8Array | undefined {
  if (BASE64.test(text)) return Uint8Array.from(Buffer.from(text, 'base64'));
  const bytes = text.length > MAX_BASE58 ? undefined : base58Decode(text);
  return bytes?.length === SIGNATURE_BYTES ? bytes : undefined;
}

/** Characters with a meaning for shells; unquoted, they are refused instead of being passed on literally. */
const SHELL_CHARACTERS = '|&;<>()$`*?~#!{}[]\n';

/** Spaces between words, text in quotes, one plain character, or a quote that is not closed. */
const PARTS = /[ \t]+|"([^"]*)"|'([^']*)'|([^"'])|(["'])/g;

const refuse = (name: string, reason: string): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', `${name} is not a valid command: ${reason}.`, {
    hint: 'Give a program with its arguments. Quote arguments with spaces. For anything else, write a script.',
  });

/**
 * Splits at spaces and tabs. Text between two `'` or two `"` is literal, backslashes included.
 * @param name - of the setting, for errors; the command itself is not quoted in errors.
 * @throws `ERR_CONFIG_INVALID`
 */
export function commandWords(command: string, name: string): readonly [string, ...string[]] {
  const words: string[] = [];
  let isInWord = false;
  for (const [part, double, single, plain, open] of command.matchAll(PARTS)) {
    if (open !== undefined) throw refuse(name, `the quote ${open} is not closed`);
    if (plain !== undefined && SHELL_CHARACTERS.includes(plain))
      throw refuse(name, `${JSON.stringify(part)} must be quoted, because no shell reads the command`);
    const text = double ?? single ?? plain;
    if (text !== undefined) words.push(`${isInWord ? words.pop() : ''}${text}`);
    isInWord = text !== undefined;
  }
  const [program, ...rest] = words;
  if (program === undefined || program === '') throw refuse(name, 'it is empty');
  return [program, ...rest];
}
