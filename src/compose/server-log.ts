/** What a server logs beside its requests: a JSON line each, in the shape of those of requests. */
import type { EngineEvent } from '../engine/events.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import { LOG_LEVELS, type LogLevel } from '../http/options.js';
import { isoTime } from '../values/time.js';

/** @param detail - fields of the line. */
export type ServerLog = (level: 'debug' | 'info' | 'warn', msg: string, detail?: object) => void;

interface ServerLogTerms {
  /** The least that is shown. */
  readonly level: LogLevel;
  readonly stream: { write(line: string): unknown };
  /** Named in each line. */
  readonly server: string;
}

export const serverLog =
  ({ level: least, stream, server }: ServerLogTerms): ServerLog =>
  (level, msg, detail = {}) => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
    stream.write(`${JSON.stringify({ level, time: isoTime(Date.now()), server, ...detail, msg })}\n`);
  };

/** What happens to every operation is for who looks closely; that another took one over is for everybody. */
const DETAILS: ReadonlySet<EngineEvent['event']> = new Set(['begun', 'signed', 'settled']);

export function logEvent(log: ServerLog, { event, ...detail }: EngineEvent): void {
  log(DETAILS.has(event) ? 'debug' : 'info', event, detail);
}

/** @param what - stays unfinished for now. */
export function logUnfinished(log: ServerLog, what: string, error: unknown): void {
  const reason = isFlywheelError(error) ? `${error.code}: ${error.message}` : 'internal error';
  log('warn', `Not finished yet: ${what}. ${reason}`);
}
