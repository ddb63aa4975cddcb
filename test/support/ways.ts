/** The same request by each way to the service: to the engine in this process, and as bytes to the HTTP server. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { expect } from 'vitest';
import type { Call, Reply } from '../../src/contract/call.js';
import type { Batch, ExecuteBatchResult, InitBatchResult } from '../../src/contract/schemas/batch.js';
import type { BurnBatchResult, BurnResult } from '../../src/contract/schemas/burn.js';
import type { Service } from '../../src/contract/service.js';
import type { EngineDeps } from '../../src/engine/deps.js';
import type { Engine } from '../../src/engine/engine.js';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { HttpServerOptions } from '../../src/http/options.js';
import { Secret } from '../../src/values/secret.js';
import { RunningClock } from './clock.js';
import { engineBeside, openTestEngine, type TestEngine, type TestProject } from './engine.js';
import { serveEngine } from './service.js';

/** The operations with method and path, as the specification writes them (sections 4.1 to 4.5). */
export const ROUTES = {
  burn: ['POST', '/v1/tokenomics/burn'],
  burnBatch: ['POST', '/v1/tokenomics/burn-batch'],
  getBatch: ['GET', '/v1/flywheel/batch/{batchId}'],
  currentBatch: ['GET', '/v1/flywheel/batch/current'],
  initBatch: ['POST', '/v1/flywheel/batch/init'],
  executeBatch: ['POST', '/v1/flywheel/batch/execute'],
} as const;

export type OperationName = keyof typeof ROUTES;

/** Who asks: a project with its key, a key, or nobody. */
export type By = TestProject | Secret | string | null;

interface Asked {
  readonly key: Secret | null;
  readonly idempotencyKey?: string;
  readonly batchId?: string;
  readonly body?: unknown;
}

export interface HttpAnswer {
  readonly method: string;
  /** The path without the base address. */
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** What came of a request; over HTTP with the answer as it was on the wire. */
export class Answer<Value = unknown> {
  readonly status: number;
  readonly body: unknown;
  readonly replayed: boolean;
  readonly http: HttpAnswer | undefined;

  constructor(seen: { status: number; body: unknown; replayed: boolean; http?: HttpAnswer }) {
    this.status = seen.status;
    this.body = seen.body;
    this.replayed = seen.replayed;
    this.http = seen.http;
  }

  /** The value of a success, which is status 200. */
  done(): Value {
    expect([this.status, this.body]).toEqual([200, this.body]);
    return this.body as Value;
  }

  /** The message of a failure with this status and code; its body has the two fields of section 2.4 and no more. */
  refused(status: number, code: string): string {
    const { message } = this.body as { message: string };
    expect([this.status, this.body]).toEqual([status, { error: code, message: expect.stringMatching(/\S/) }]);
    return message;
  }
}

/** Requests as bytes over HTTP, and everything that was answered. */
export class HttpClient {
  readonly seen: HttpAnswer[] = [];
  readonly #baseUrl: string;
  readonly #agent = new Agent({ connections: 256 });

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  get baseUrl(): string {
    return this.#baseUrl;
  }

  async send(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string | Uint8Array } = {},
  ): Promise<HttpAnswer> {
    const response = await request(this.#baseUrl + path, {
      method: method as 'GET',
      headers,
      dispatcher: this.#agent,
      ...(body === undefined ? {} : { body }),
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const answer = {
      method,
      path,
      status: response.statusCode,
      headers: Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
      ),
      bytes,
    };
    this.seen.push(answer);
    return answer;
  }

  /** A request with a JSON body as text, for what a value of this process cannot say. */
  async post<Value>(
    operation: OperationName,
    by: By,
    text: string | Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<Answer<Value>> {
    const key = keyOf(by);
    const [method, path] = ROUTES[operation];
    return answerOf<Value>(
      await this.send(method, path, {
        headers: {
          'content-type': 'application/json',
          ...(key === null ? {} : { 'x-service-api-key': key.reveal() }),
          ...headers,
        },
        body: text,
      }),
    );
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}

function answerOf<Value>(http: HttpAnswer): Answer<Value> {
  const body: unknown = JSON.parse(http.bytes.toString('utf8'));
  return new Answer<Value>({
    status: http.status,
    body,
    replayed: http.headers['idempotent-replayed'] === 'true',
    http,
  });
}

function keyOf(by: By): Secret | null {
  if (by === null || by instanceof Secret) return by;
  return typeof by === 'string' ? new Secret(by) : by.key;
}

type Send = (operation: OperationName, asked: Asked) => Promise<Answer>;

/** One way to one engine. */
export class Way {
  readonly test: TestEngine;
  readonly clock: RunningClock;
  /** Only over HTTP. */
  readonly http: HttpClient | undefined;
  readonly #send: Send;
  readonly #reach: Reach;

  constructor(parts: { test: TestEngine; clock: RunningClock; reach: Reach; reached: Reached }) {
    this.test = parts.test;
    this.clock = parts.clock;
    this.http = parts.reached.http;
    this.#send = parts.reached.send;
    this.#reach = parts.reach;
  }

  register(input?: Parameters<TestEngine['register']>[0]): Promise<TestProject> {
    return this.test.register(input);
  }

  burn(by: By, body: unknown, idempotencyKey?: string): Promise<Answer<BurnResult>> {
    return this.#ask('burn', { by, body, idempotencyKey });
  }

  /** `null` leaves the idempotency key out. */
  burnBatch(
    by: By,
    body: unknown,
    idempotencyKey: string | null = randomUUID(),
  ): Promise<Answer<BurnBatchResult>> {
    return this.#ask('burnBatch', { by, body, idempotencyKey: idempotencyKey ?? undefined });
  }

  getBatch(by: By, batchId: string): Promise<Answer<Batch>> {
    return this.#ask('getBatch', { by, batchId });
  }

  currentBatch(by: By): Promise<Answer<Batch | null>> {
    return this.#ask('currentBatch', { by });
  }

  initBatch(by: By, body: unknown, idempotencyKey?: string): Promise<Answer<InitBatchResult>> {
    return this.#ask('initBatch', { by, body, idempotencyKey });
  }

  executeBatch(by: By, body: unknown, idempotencyKey?: string): Promise<Answer<ExecuteBatchResult>> {
    return this.#ask('executeBatch', { by, body, idempotencyKey });
  }

  /** The same way to a second engine on the same store and chain, some of whose parts are other ones. */
  async beside(parts: Partial<EngineDeps>, use: (way: Way) => Promise<void>): Promise<void> {
    await this.#over(engineBeside(this.test, parts), {}, use);
  }

  /** The same way to a server with other settings; the engine in this process knows none. */
  async serving(options: HttpServerOptions, use: (way: Way) => Promise<void>): Promise<void> {
    await this.#over(this.test.engine, options, use);
  }

  async #over(engine: Engine, options: HttpServerOptions, use: (way: Way) => Promise<void>): Promise<void> {
    const { test, clock } = this;
    const reached = await this.#reach(test, engine, options);
    try {
      await use(new Way({ test, clock, reach: this.#reach, reached }));
    } finally {
      this.http?.seen.push(...(reached.http?.seen ?? []));
      await reached.close();
    }
  }

  #ask<Value>(
    operation: OperationName,
    { by, ...asked }: { by: By; body?: unknown; batchId?: string; idempotencyKey?: string | undefined },
  ): Promise<Answer<Value>> {
    const given = Object.entries({ ...asked, key: keyOf(by) }).filter(([, value]) => value !== undefined);
    return this.#send(operation, Object.fromEntries(given) as unknown as Asked) as Promise<Answer<Value>>;
  }
}

interface Reached {
  readonly send: Send;
  readonly http?: HttpClient;
  close(): Promise<void>;
}

type Reach = (test: TestEngine, engine: Engine, options?: HttpServerOptions) => Promise<Reached>;

function invoke(service: Service, operation: OperationName, asked: Asked): Promise<Reply<unknown>> {
  const { key, idempotencyKey, batchId = '', body } = asked;
  const call: Call = { credential: key, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
  if (operation === 'getBatch') return service.getBatch({ batchId }, call);
  if (operation === 'currentBatch') return service.currentBatch(call);
  return service[operation](body as never, call);
}

/** Errors become what a server would write into its answer. */
const inProcess: Reach = async (_test, engine) => ({
  send: async (operation, asked) => {
    try {
      const { value, meta } = await invoke(engine, operation, asked);
      return new Answer({ status: 200, body: value, replayed: meta.replayed });
    } catch (error) {
      if (!isFlywheelError(error)) throw error;
      return new Answer({ status: error.status ?? 0, body: error.toBody(), replayed: false });
    }
  },
  close: async () => undefined,
});

const overHttp: Reach = async (test, engine, options) => {
  const server = await serveEngine(engine, { basePath: '/api', ...options });
  const http = new HttpClient(server.url);
  return {
    http,
    send: async (operation, { key, idempotencyKey, batchId = '', body }) => {
      const idempotency: Record<string, string> =
        idempotencyKey === undefined ? {} : { 'x-idempotency-key': idempotencyKey };
      const [method, path] = ROUTES[operation];
      if (method === 'POST') return http.post(operation, key, JSON.stringify(body), idempotency);
      const headers: Record<string, string> = key === null ? {} : { 'x-service-api-key': key.reveal() };
      return answerOf(
        await http.send(method, path.replace('{batchId}', encodeURIComponent(batchId)), { headers }),
      );
    },
    close: async () => {
      await http.close();
      await server.close();
    },
  };
};

export interface OpenedWay {
  readonly way: Way;
  dispose(): Promise<void>;
}

/** Each way, with a project registered, on an engine of its own. */
export const WAYS: readonly { readonly name: string; open(): Promise<OpenedWay> }[] = [
  { name: 'in process', open: () => openWay(inProcess) },
  { name: 'over HTTP', open: () => openWay(overHttp) },
];

async function openWay(reach: Reach): Promise<OpenedWay> {
  const clock = new RunningClock();
  const test = await openTestEngine({}, { clock });
  const reached = await reach(test, test.engine);
  return {
    way: new Way({ test, clock, reach, reached }),
    dispose: async () => {
      await reached.close();
      await test.destroy();
    },
  };
}
