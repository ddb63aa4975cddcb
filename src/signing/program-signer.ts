/**
 * A signer whose key belongs to a program of the user. An answer counts only if the signature verifies for the registered
 * address; the program never chooses the address. Its command is split without a shell, so nothing in it is expanded.
 */
import { type Signer, verifySignature } from '../chain/transaction/sign.js';
import { SIGNATURE_BYTES } from '../chain/transaction/wire.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { base58Decode, type ReadonlyBytes, readBuffer } from '../values/bytes.js';
import { inParallel } from '../values/event-loop.js';
import { type ProgramTerms, runProgram } from './run-program.js';

const MAX_PROCESSES = 8;
/** Messages of one run; it is longer only if there are more than eight of these. */
const PART = 8;
const SIGNATURE_TIMEOUT_MS = 30_000;

interface ProgramSignerOptions {
  readonly address: Address;
  readonly role: string;
  readonly words: ProgramTerms['words'];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** @default 30 s */
  readonly timeoutMs?: number | undefined;
  /** Aborting it ends all runs. */
  readonly signal?: AbortSignal | undefined;
}

/** Starts the program for the messages of one call, and again for the rest whenever it exits after an answer. */
export class ProgramSigner implements Signer {
  readonly address: Address;
  readonly #options: ProgramSignerOptions;
  readonly #terms: ProgramTerms;
  readonly #closing = new AbortController();
  readonly #runs = new Set<Promise<unknown>>();

  constructor(options: ProgramSignerOptions) {
    this.#options = options;
    this.address = options.address;
    const { words, timeoutMs = SIGNATURE_TIMEOUT_MS, signal } = options;
    const { signal: closing } = this.#closing;
    const either = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    this.#terms = { words, timeoutMs, env: environment(options), signal: either };
  }

  /** Signs all messages, or stops at the first failure. */
  async signAll(messages: readonly ReadonlyBytes[]): Promise<readonly Uint8Array[]> {
    const size = Math.max(PART, Math.ceil(messages.length / MAX_PROCESSES));
    const starts = [...messages.keys()].filter((at) => at % size === 0);
    const parts = starts.map((start) => messages.slice(start, start + size));
    return (await inParallel(parts, MAX_PROCESSES, (part) => this.#signPart(part))).flat();
  }

  /** Ends all runs. Resolves when they have exited. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#runs);
  }

  async #signPart(messages: readonly ReadonlyBytes[]): Promise<readonly Uint8Array[]> {
    const signatures: Uint8Array[] = [];
    while (signatures.length < messages.length) {
      const left = messages.slice(signatures.length);
      const { answers, problem, said } = await this.#run(left);
      this.#requireOpen();
      for (const [at, answer] of answers.entries())
        signatures.push(this.#signature(answer, left[at] as ReadonlyBytes));
      if (signatures.length < messages.length && (problem !== null || answers.length === 0))
        throw this.#failure(problem ?? 'it exited without an answer', said);
    }
    return signatures;
  }

  async #run(messages: readonly ReadonlyBytes[]) {
    while (this.#runs.size >= MAX_PROCESSES)
      await Promise.race([...this.#runs].map((run) => run.catch(() => undefined)));
    this.#requireOpen();
    const lines = messages.map((message) => readBuffer(message).toString('base64'));
    const run = runProgram(this.#terms, lines);
    this.#runs.add(run);
    return run.finally(() => this.#runs.delete(run));
  }

  #requireOpen(): void {
    if (this.#options.signal?.aborted === true) throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted.');
    if (this.#closing.signal.aborted) throw this.#failure('flywheel was shutting down');
  }

  /** The output of the program is not shown, because it may be a key. */
  #signature(line: string, message: ReadonlyBytes): Uint8Array {
    const signature = signatureOf(line);
    if (signature !== undefined && verifySignature(this.address, message, signature)) return signature;
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
