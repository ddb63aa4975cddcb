/** Clients of several servers that repeat each request, at any server, until it is answered. */
import { strict as assert } from 'node:assert';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Random } from '../../fuzz/random.js';

export interface Asked {
  readonly path: string;
  readonly apiKey: string;
  readonly key: string;
  readonly body: string;
  answer?: { readonly status: number; readonly text: string };
}

interface Met {
  tries: number;
  broken: number;
  readonly byStatus: Map<string, number>;
}

const ANSWER_MS = 25_000;
const LOOK_MS = 60;
/** The time limit of one request, whatever faults occur. */
const PATIENCE_MS = 240_000;

/** Statuses that permit a repeat; each answer must have a Retry-After. */
const AGAIN: ReadonlySet<number> = new Set([409, 429, 503]);
/** Error codes with which the service asks for a repeat. */
const AGAIN_CODES = ['ERR_CREATE_API_EVENT_FAILED', 'ERR_BATCH_INIT_FAILED', 'ERR_BATCH_EXECUTE_FAILED'];

const codeOf = (text: string): string => /"error":"(ERR_\w+)"/.exec(text)?.[1] ?? '';

export class Clients {
  readonly met: Met = { tries: 0, broken: 0, byStatus: new Map() };
  readonly #agent = new Agent({ connections: 60, headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS });
  readonly #urls: () => readonly string[];
  readonly #random: Random;

  /** @param urls - of servers that may be running. */
  constructor(random: Random, urls: () => readonly string[]) {
    this.#random = random;
    this.#urls = urls;
  }

  /** Repeats a request until a final answer. @returns the answer, which is the same each time. */
  async bring(asked: Asked): Promise<{ readonly status: number; readonly text: string }> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.#try(asked);
      if (answer !== undefined) {
        if (asked.answer !== undefined && asked.answer.status === 200)
          assert.deepEqual(
            answer,
            asked.answer,
            `A repeat of ${asked.path} ${asked.key} has another answer.`,
          );
        asked.answer = answer;
        return answer;
      }
      assert(performance.now() < untilMs, `Nobody answers ${asked.path} ${asked.key}.`);
      await setTimeout(LOOK_MS + this.#random.below(LOOK_MS * 4));
    }
  }

  /** Reads once from any server. @returns `undefined` without an answer. */
  async read(path: string, apiKey: string): Promise<{ status: number; text: string } | undefined> {
    try {
      const { statusCode, body } = await request(this.#random.pick(this.#urls()) + path, {
        dispatcher: this.#agent,
        headers: { 'x-service-api-key': apiKey },
      });
      return { status: statusCode, text: await body.text() };
    } catch {
      this.met.broken += 1;
      return undefined;
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #try({ path, apiKey, key, body }: Asked): Promise<Asked['answer']> {
    this.met.tries += 1;
    let status: number;
    let text: string;
    let again: string | undefined;
    try {
      const answer = await request(this.#random.pick(this.#urls()) + path, {
        method: 'POST',
        dispatcher: this.#agent,
        headers: {
          'x-service-api-key': apiKey,
          'content-type': 'application/json',
          ...(key === '' ? {} : { 'x-idempotency-key': key }),
        },
        body,
      });
      status = answer.statusCode;
      again = answer.headers['retry-after']?.toString();
      text = await answer.body.text();
    } catch {
      // The server is gone, or not started yet.
      this.met.broken += 1;
      return undefined;
    }
    const code = codeOf(text);
    const name = `${status} ${code}`.trim();
    this.met.byStatus.set(name, (this.met.byStatus.get(name) ?? 0) + 1);
    if (AGAIN_CODES.includes(code)) return undefined;
    if (!AGAIN.has(status)) {
      assert(status === 200 || (status >= 400 && status < 500), `${path} ${key}: ${status} ${text}`);
      return { status, text };
    }
    assert(again !== undefined, `${path} ${key}: ${status} says not when to come again: ${text}`);
    return undefined;
  }
}
