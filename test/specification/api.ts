/** The API over HTTP and JSON, as any caller uses it. {@link InProcessService} is the only access to the service's inside. */
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { expect } from 'vitest';
import type { AnswerOf, InProcessService, OtherServer, Project, ProjectInput } from './in-process-service.js';

/** The operations of the specification with method and path (sections 4.1 to 4.5). */
export const ROUTES = {
  burn: ['POST', '/v1/tokenomics/burn'],
  burnBatch: ['POST', '/v1/tokenomics/burn-batch'],
  getBatch: ['GET', '/v1/flywheel/batch/{batchId}'],
  currentBatch: ['GET', '/v1/flywheel/batch/current'],
  initBatch: ['POST', '/v1/flywheel/batch/init'],
  executeBatch: ['POST', '/v1/flywheel/batch/execute'],
} as const;

/** Further operations of the contract (section 1.7). */
const FURTHER_ROUTES = {
  listBurns: ['GET', '/v1/tokenomics/burns'],
  history: ['GET', '/v1/tokenomics/history'],
  report: ['GET', '/v1/tokenomics/report'],
  describeKey: ['GET', '/v1/tokenomics/key'],
  listBatches: ['GET', '/v1/flywheel/batch'],
  batchPipelines: ['GET', '/v1/flywheel/batch/{batchId}/pipelines'],
  issueApproval: ['POST', '/v1/flywheel/batch/{batchId}/approval'],
  cancelBatch: ['POST', '/v1/flywheel/batch/{batchId}/cancel'],
} as const;

const ALL_ROUTES = { ...ROUTES, ...FURTHER_ROUTES };

export type OperationName = keyof typeof ROUTES;
type AnyOperation = keyof typeof ALL_ROUTES;

export interface BurnRequest {
  readonly type: string;
  readonly proof: Readonly<Record<string, unknown>>;
  readonly burnAmount: number;
  readonly persistOnchain: boolean;
}

export interface Pipeline {
  readonly type: string;
  readonly payload: string;
  readonly actions: readonly unknown[];
}

export type Batch = AnswerOf<'getBatch'>;
export type InitBatchResult = AnswerOf<'initBatch'>;
export type CompiledPipeline = InitBatchResult['batch']['pipelines'][number];
export type ExecuteResult = AnswerOf<'executeBatch'>['result'];
export type BundleExecution = ExecuteResult['successfulExecutions'][number];

export type By = Pick<Project, 'key'> | string | null;

const keyOf = (by: By): string | null => (by === null || typeof by === 'string' ? by : by.key);

export interface HttpAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

export class Answer<Value = unknown> {
  readonly http: HttpAnswer;
  readonly body: unknown;

  constructor(http: HttpAnswer) {
    this.http = http;
    this.body = JSON.parse(http.bytes.toString('utf8'));
  }

  get status(): number {
    return this.http.status;
  }

  /** Whether it repeats the answer of an earlier request with the same idempotency key. */
  get replayed(): boolean {
    return this.http.headers['idempotent-replayed'] === 'true';
  }

  done(): Value {
    expect([this.status, this.body]).toEqual([200, this.body]);
    return this.body as Value;
  }

  /** The message of a failure with this status and code; its body has exactly the two fields of section 2.4. */
  refused(status: number, code: string): string {
    const { message } = this.body as { message: string };
    expect([this.status, this.body]).toEqual([status, { error: code, message: expect.stringMatching(/\S/) }]);
    return message;
  }
}

/** Sends requests to the servers in turn, and records every answer. */
class HttpClient {
  readonly seen: HttpAnswer[] = [];
  readonly #urls: readonly string[];
  readonly #agent = new Agent({ connections: 256 });
  #turn = 0;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  get baseUrl(): string {
    this.#turn += 1;
    return this.#urls[this.#turn % this.#urls.length] as string;
  }

  async send(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string | Uint8Array | Readable } = {},
  ): Promise<HttpAnswer> {
    const response = await request(this.baseUrl + path, {
      method: method as 'GET',
      headers,
      dispatcher: this.#agent,
      ...(body === undefined ? {} : { body }),
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const named = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
    const answer = { method, path, status: response.statusCode, headers: Object.fromEntries(named), bytes };
    this.seen.push(answer);
    return answer;
  }

  /** Sends a JSON text that JSON.stringify cannot produce. */
  async post<Value>(
    operation: OperationName,
    by: By,
    text: string | Uint8Array | Readable,
    headers: Record<string, string> = {},
  ): Promise<Answer<Value>> {
    const [method, path] = ROUTES[operation];
    return new Answer<Value>(
      await this.send(method, path, {
        headers: { 'content-type': 'application/json', ...keyHeader(by), ...headers },
        body: text,
      }),
    );
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}

export function keyHeader(by: By): Record<string, string> {
  const key = keyOf(by);
  return key === null ? {} : { 'x-service-api-key': key };
}

interface Asked {
  readonly batchId?: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
}

export class Api {
  readonly service: InProcessService;
  readonly http: HttpClient;

  constructor(service: InProcessService, http = new HttpClient(service.urls)) {
    this.service = service;
    this.http = http;
  }

  get project(): Project {
    return this.service.project;
  }

  register(input?: ProjectInput): Promise<Project> {
    return this.service.register(input);
  }

  readonly burn = (by: By, body: unknown, idempotencyKey?: string) =>
    this.#ask('burn', by, { body, idempotencyKey });

  /** `null` omits the idempotency key. */
  readonly burnBatch = (by: By, body: unknown, idempotencyKey: string | null = randomUUID()) =>
    this.#ask('burnBatch', by, { body, idempotencyKey: idempotencyKey ?? undefined });

  readonly getBatch = (by: By, batchId: string) => this.#ask('getBatch', by, { batchId });
  readonly currentBatch = (by: By) => this.#ask('currentBatch', by);
  readonly initBatch = (by: By, body: unknown, idempotencyKey?: string) =>
    this.#ask('initBatch', by, { body, idempotencyKey });
  readonly executeBatch = (by: By, body: unknown, idempotencyKey?: string) =>
    this.#ask('executeBatch', by, { body, idempotencyKey });
  readonly cancelBatch = (by: By, batchId: string, body?: unknown) =>
    this.#ask('cancelBatch', by, { batchId, body });
  readonly issueApproval = (by: By, batchId: string) => this.#ask('issueApproval', by, { batchId });
  readonly batchPipelines = (by: By, batchId: string, query: Asked['query'] = {}) =>
    this.#ask('batchPipelines', by, { batchId, query });
  readonly listBatches = (by: By, query: Asked['query'] = {}) => this.#ask('listBatches', by, { query });
  readonly listBurns = (by: By, query: Asked['query'] = {}) => this.#ask('listBurns', by, { query });
  readonly history = (by: By, query: Asked['query'] = {}) => this.#ask('history', by, { query });
  readonly describeKey = (by: By) => this.#ask('describeKey', by);
  readonly report = (by: By, query: Asked['query'] = {}) => this.#ask('report', by, { query });

  beside(other: OtherServer, use: (api: Api) => Promise<void>): Promise<void> {
    return this.service.beside(other, async (url) => {
      const http = new HttpClient([url]);
      try {
        await use(new Api(this.service, http));
      } finally {
        this.http.seen.push(...http.seen);
        await http.close();
      }
    });
  }

  close(): Promise<void> {
    return this.http.close();
  }

  async #ask<Operation extends AnyOperation>(
    operation: Operation,
    by: By,
    { batchId = '', query = {}, body, idempotencyKey }: Asked = {},
  ) {
    const [method, path] = ALL_ROUTES[operation];
    const words = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
    const asked = Object.keys(words).length === 0 ? '' : `?${new URLSearchParams(words).toString()}`;
    return new Answer<AnswerOf<Operation>>(
      await this.http.send(method, path.replace('{batchId}', encodeURIComponent(batchId)) + asked, {
        headers: {
          ...keyHeader(by),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === undefined ? {} : { 'x-idempotency-key': idempotencyKey }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  }
}
