/** The log lines of one transaction, cut off where the cluster cuts them. */
import type { Address } from '../../../values/address.js';
import { LOG_BYTES_LIMIT } from '../vm/vm.js';

/** What stands in the place of the lines beyond the limit. */
const LOG_TRUNCATED = 'Log truncated';

/** A line by which the machine says that a program begins; a program's own lines always begin with `Program log: ` or the like. */
const INVOKE_LINE = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[(\d+)\]$/;
/** What a "consumed … of … compute units" line of a native program would take; it is not written, as nothing was metered. */
const UNWRITTEN_LINE_BYTES = 89;

/** How deep a line says a program begins, or `undefined` for any other line. */
export function invokeDepth(line: string): number | undefined {
  if (!line.endsWith(']')) return undefined;
  const depth = INVOKE_LINE.exec(line)?.[2];
  return depth === undefined ? undefined : Number(depth);
}

/** A line by which a program begins, as it reads `depth` deep. */
export const nestLine = (line: string, depth: number): string =>
  `${line.slice(0, line.lastIndexOf('['))}[${depth}]`;

/** Gathers the lines of one transaction. */
export class LogCollector {
  readonly lines: string[] = [];
  #bytes = 0;
  #truncated = false;

  add(line: string): void {
    const bytes = this.#bytes + Buffer.byteLength(line);
    if (bytes < Number(LOG_BYTES_LIMIT)) {
      this.#bytes = bytes;
      this.lines.push(line);
    } else if (!this.#truncated) {
      this.#truncated = true;
      this.lines.push(LOG_TRUNCATED);
    }
  }

  begin(program: Address, depth: number): void {
    this.add(`Program ${program} invoke [${depth}]`);
  }

  /** Ends a native program's lines; `failure` is its reason, or `null`. */
  end(program: Address, failure: string | null): void {
    this.#bytes += UNWRITTEN_LINE_BYTES;
    this.add(failure === null ? `Program ${program} success` : `Program ${program} failed: ${failure}`);
  }
}
