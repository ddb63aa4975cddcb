/** Finds the memo of a proof in what a transaction did: in its own instructions, or in the logs of what it called. */
import { MEMO_PROGRAM } from '../../chain/programs.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';

/** Type and hash as they stand on chain. */
export interface ProofMemo {
  readonly type: string;
  readonly hash: string;
}

/** A memo as that of a proof; `undefined` for any other. */
export function parseProofMemo(text: string): ProofMemo | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { type, hash } = value as Readonly<Record<string, unknown>>;
    return typeof type === 'string' && typeof hash === 'string' ? { type, hash } : undefined;
  } catch {
    return undefined;
  }
}

/** Memos among the transaction's own instructions. */
function ownMemos(wire: Uint8Array): readonly string[] {
  const { message } = decodeTransaction(wire);
  return message.instructions
    .filter(({ programIndex }) => message.staticKeys[programIndex] === MEMO_PROGRAM)
    .map(({ data }) => Buffer.from(data).toString('utf8'));
}

const INVOKE = /^Program (\S+) invoke \[\d+\]$/;
const RETURN = /^Program \S+ (?:success|failed.*)$/;
/** The program says the length and then, on the same line or the next, the text; which of both depends on its version. */
const MEMO_LENGTH = /^Program log: Memo \(len (\d+)\)(?:: (".*"))?$/s;
const LOG_PREFIX = 'Program log: ';

/** Memos that were logged by the Memo program itself; the same words from another program count for nothing. */
export function loggedMemos(logs: readonly string[]): readonly string[] {
  const running: string[] = [];
  return logs.flatMap((line, at) => {
    const invoked = INVOKE.exec(line)?.[1];
    if (invoked !== undefined) running.push(invoked);
    else if (RETURN.test(line)) running.pop();
    return running.at(-1) === MEMO_PROGRAM ? memoAt(line, logs[at + 1]) : [];
  });
}

function memoAt(line: string, next: string | undefined): readonly string[] {
  const [found, length, quoted] = MEMO_LENGTH.exec(line) ?? [];
  if (found === undefined) return [];
  const text = quoted === undefined ? next?.slice(LOG_PREFIX.length) : unquote(quoted);
  // A log that was cut short does not hold the whole memo.
  return text !== undefined && Buffer.byteLength(text) === Number(length) ? [text] : [];
}

/** The program logs text as Rust prints it for debugging: the escapes are those of JSON but for `\u{…}` and `\'`. */
function unquote(text: string): string {
  const json = text
    .replace(/\\u\{([0-9a-f]+)\}/gi, (_all, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll("\\'", "'");
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : '';
  } catch {
    return '';
  }
}

/** Every proof memo of a landed transaction. */
export const proofMemos = (wire: Uint8Array, logs: readonly string[]): readonly ProofMemo[] =>
  [...ownMemos(wire), ...loggedMemos(logs)].flatMap((text) => parseProofMemo(text) ?? []);
