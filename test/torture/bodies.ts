/**
 * A search for the body that is dearest to check for its size: the dearest so far are changed in one thing, again and again,
 * and whatever comes of it must neither keep others waiting nor cost much more than what everybody sends.
 */
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { MAX_JSON_VALUES } from '../../src/contract/limits.js';
import type { Random } from '../fuzz/random.js';
import { plainBody } from '../support/dear-bodies.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import { type RunningServer, startServer } from '../support/http.js';
import { type BodyShape, BodyWriter, changedBody, randomBody } from './body-shapes.js';
import type { OpenTorture, TorturePart } from './part.js';

const MIB = 1_024 * 1_024;
const SIZE_BYTES = MIB;
const ELEMENTS = 1_000;
/** Shapes that are kept, the dearest first. */
const KEPT = 8;
/** A smaller one counts as this large: every request costs something, whatever is in it. */
const LEAST_BYTES = MIB / 4;
/** How much dearer than a plain body of its size any may be. */
const MOST_TIMES_PLAIN = 15;
/** How long the process may do nothing else. */
const MOST_STRETCH_MS = 250;
const TRIES = 3;

/** What a body costs, in the best of some tries. */
interface Cost {
  /** Milliseconds a MiB. */
  readonly msPerMib: number;
  /** The longest time in which nothing else had a turn. */
  readonly stretchMs: number;
  readonly status: number;
}

interface Found extends Cost {
  readonly body: BodyShape;
}

class BodiesTorture implements OpenTorture {
  readonly #opened: TestEngine;
  readonly #server: RunningServer;
  readonly #agent = new Agent({ connections: 1 });
  readonly #found: Found[] = [];
  #plainMs = 0;

  constructor(opened: TestEngine, server: RunningServer) {
    this.#opened = opened;
    this.#server = server;
  }

  async round(random: Random): Promise<void> {
    if (this.#plainMs === 0) {
      const text = plainBody(SIZE_BYTES);
      for (let warm = 0; warm < TRIES; warm += 1) await this.#cost('/v1/tokenomics/burn-batch', text);
      this.#plainMs = (await this.#best('/v1/tokenomics/burn-batch', text)).msPerMib;
    }
    const parent = this.#found.length === 0 || random.oneIn(4) ? undefined : random.pick(this.#found);
    const body = parent === undefined ? randomBody(random) : changedBody(random, parent.body);
    const { path, text } = writeBody(body);
    const first = await this.#cost(path, text);
    const last = this.#found[KEPT - 1];
    if (last !== undefined && first.msPerMib <= last.msPerMib && first.stretchMs <= MOST_STRETCH_MS) return;
    this.#keep({ ...(await this.#best(path, text)), body });
  }

  report(): string {
    const of = (found: Found): string =>
      `${(found.msPerMib / this.#plainMs).toFixed(1)} times plain, ${found.stretchMs.toFixed(0)} ms at a stretch, ${found.status}: ${JSON.stringify(found.body)}`;
    return this.#found.map(of).join('\n');
  }

  async close(): Promise<void> {
    await this.#agent.close();
    await this.#server.closeGracefully(5_000);
    await this.#opened.destroy();
  }

  #keep(found: Found): void {
    const name = JSON.stringify(found.body);
    const timesPlain = found.msPerMib / this.#plainMs;
    assert(timesPlain <= MOST_TIMES_PLAIN, `${timesPlain} times as dear as a plain body: ${name}`);
    assert(found.stretchMs <= MOST_STRETCH_MS, `Others wait ${found.stretchMs} ms: ${name}`);
    this.#found.push(found);
    this.#found.sort((a, b) => b.msPerMib - a.msPerMib);
    this.#found.splice(KEPT);
  }

  async #best(path: string, text: string): Promise<Cost> {
    const costs: Cost[] = [];
    for (let count = 0; count < TRIES; count += 1) costs.push(await this.#cost(path, text));
    const least = (of: (cost: Cost) => number): number => Math.min(...costs.map(of));
    return {
      msPerMib: least((cost) => cost.msPerMib),
      stretchMs: least((cost) => cost.stretchMs),
      status: costs[0]?.status ?? 0,
    };
  }

  async #cost(path: string, text: string): Promise<Cost> {
    const body = Buffer.from(text);
    const startedMs = performance.now();
    let turnMs = startedMs;
    let stretchMs = 0;
    let isDone = false;
    const tick = (): void => {
      const nowMs = performance.now();
      stretchMs = Math.max(stretchMs, nowMs - turnMs);
      turnMs = nowMs;
      if (!isDone) setImmediate(tick);
    };
    setImmediate(tick);
    const answer = await request(this.#server.url + path, {
      method: 'POST',
      dispatcher: this.#agent,
      body,
      headers: {
        'x-service-api-key': this.#opened.project.key.reveal(),
        'x-idempotency-key': randomUUID(),
        'content-type': 'application/json',
      },
    });
    const reply = await answer.body.text();
    isDone = true;
    const { statusCode: status } = answer;
    assert([200, 400, 403, 413].includes(status), `${status} ${reply.slice(0, 200)}`);
    const ms = performance.now() - startedMs;
    return { msPerMib: (ms * MIB) / Math.max(body.length, LEAST_BYTES), stretchMs, status };
  }
}

const writeBody = (body: BodyShape): { readonly path: string; readonly text: string } =>
  new BodyWriter({ bytes: SIZE_BYTES, values: MAX_JSON_VALUES - 2 * ELEMENTS }).write(body, ELEMENTS);

/** The dearest bodies that can be found. */
export const tortureBodies: TorturePart = {
  of: 'one shape of a body',
  async open() {
    const opened = await openTestEngine();
    const authenticate = (credential: Parameters<typeof opened.engine.authenticate>[0]) =>
      opened.engine.authenticate(credential);
    const log = { level: 'info', stream: { write: () => undefined } } as const;
    return new BodiesTorture(opened, await startServer({ service: opened.engine, authenticate, log }));
  },
};
