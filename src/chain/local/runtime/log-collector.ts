/** The log lines of one transaction, cut off where the cluster cuts them. */
import type { Address } from '../../../values/address.js';
import { LOG_BYTES_LIMIT } from '../vm/vm.js';

/** A line by which the machine says that a program begins; a program's own lines always begin with `Program log: ` or the like. */
const INVOKE_LINE = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[(\d+)\]$/;
/** What a "consumed … of … compute units" line of a native program would take; it is not written, as nothing was metered. */
const UNWRITTEN_LINE_BYTES = 89;

/** How deep a line says a program begins, or `undefined` for any other line. */
export function invokeDepth(line: string): number | undefined {
  const depth = INVOKE_LINE.exec(line)?.[2];
  return depth === undefined ? undefined : Number(depth);
}

/** Lines of a run as they read when its programs were called from `depth` levels further up. */
export const nestLines = (lines: readonly string[], depth: number): string[] =>
  depth === 0
    ? [...lines]
    : lines.map((line) => {
        const match = INVOKE_LINE.exec(line);
        return match === null ? line : `Program ${match[1]} invoke [${Number(match[2]) + depth}]`;
      });

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
      this.lines.push('Log truncated');
    }
  }

  addAll(lines: readonly string[]): void {
    for (const line of lines) this.add(line);
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
