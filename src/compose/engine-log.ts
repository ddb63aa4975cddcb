/** The log of an engine, a JSON line for each thing that it says, in the shape of the server's own lines. */
import type { EngineEvent } from '../engine/events.js';
import { isoTime } from '../values/time.js';
import type { ServeOptions } from './server.js';

interface EngineLogTerms {
  readonly level: ServeOptions['logLevel'];
  readonly stream: { write(line: string): unknown };
}

/** What happens to every operation is for who looks closely; that another took one over is for everybody. */
const DETAILS: ReadonlySet<EngineEvent['event']> = new Set(['begun', 'signed', 'settled']);
const SHOWN: Readonly<Record<'info' | 'debug', ReadonlySet<ServeOptions['logLevel']>>> = {
  info: new Set(['info', 'debug', 'trace']),
  debug: new Set(['debug', 'trace']),
};

/** @returns what hears the engine. */
export const engineLog =
  ({ level, stream }: EngineLogTerms) =>
  ({ event, ...detail }: EngineEvent, server: string): void => {
    const own = DETAILS.has(event) ? 'debug' : 'info';
    if (!SHOWN[own].has(level)) return;
    const line = { level: own, time: isoTime(Date.now()), server, ...detail, msg: event };
    stream.write(`${JSON.stringify(line)}\n`);
  };
