/** `flywheel serve` on a cluster as a program: work that outlives its request, and work that outlives its server. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it, onTestFailed } from 'vitest';
import { aPipeline, burnAction, signApproval } from '../support/engine.js';
import { ask, killServers, type ServedHome, type ServeProcess, serve } from '../support/http-serve.js';
import { emptyDirectory } from '../support/spawn.js';
import { projectOnCluster } from '../test-cluster/directory.js';

type InitBatchResult = Parameters<typeof signApproval>[1];
type Batch = InitBatchResult['batch'];

const BATCH = '/v1/flywheel/batch';
const pipelines = [1, 2, 3].map((amount) => aPipeline([burnAction(amount)]));
const LOOK_MS = 50;

const { test, node, dataDir, close } = await projectOnCluster({
  ...{ slotMs: 50, confirmedAfter: 2, finalizedAfter: 6 },
});
const home: ServedHome = { home: emptyDirectory(), dataDir, key: test.project.key.reveal() };
afterEach(killServers);
afterAll(close);

async function start(): Promise<ServeProcess> {
  const server = await serve(home, '--rate', 'init=100/s', '--rate', 'execute=100/s');
  onTestFailed(() => void process.stderr.write(server.log()));
  return server;
}

const post = (
  server: ServeProcess,
  step: string,
  body: unknown,
  idempotencyKey: string,
  signal?: AbortSignal,
) =>
  ask(`${server.url}${BATCH}/${step}`, home.key, {
    body,
    idempotencyKey,
    ...(signal === undefined ? {} : { signal }),
  });

async function current(server: ServeProcess): Promise<Batch | null> {
  return (await (await ask(`${server.url}${BATCH}/current`, home.key)).json()) as Batch | null;
}

async function untilFinalized(server: ServeProcess): Promise<Batch> {
  for (;;) {
    const batch = await current(server);
    if (batch?.status === 'FINALIZED') return batch;
    await setTimeout(LOOK_MS);
  }
}

async function answered<Value>(
  server: ServeProcess,
  step: string,
  body: unknown,
  key: string,
): Promise<Value> {
  for (;;) {
    const response = await post(server, step, body, key);
    if (response.status === 200) return (await response.json()) as Value;
    expect([409, 503]).toContain(response.status);
    await setTimeout(LOOK_MS);
  }
}

/** Repeats an init in progress until it reports why it waits. @returns that report */
async function untilItWaits(server: ServeProcess, key: string): Promise<string> {
  for (;;) {
    const repeat = await post(server, 'init', { pipelines }, key);
    expect([repeat.status, repeat.headers.get('retry-after')]).toEqual([409, '1']);
    const { error, message } = (await repeat.json()) as { error: string; message: string };
    expect(error).toBe('ERR_DUPLICATE_IDEMPOTENCY_KEY');
    if (message.includes('waiting')) return message;
    await setTimeout(LOOK_MS);
  }
}

const burned = async (): Promise<string> => (await test.engine.status()).burned;

async function execute(server: ServeProcess, answer: InitBatchResult): Promise<void> {
  const body = { batchId: answer.batch.id, signedTx: signApproval(test.project.owner, answer) };
  const { result } = await answered<{ result: object }>(server, 'execute', body, randomUUID());
  expect(result).toMatchObject({ total: 3, totalSuccessful: 3, totalFailed: 0 });
}

describe('flywheel serve on a cluster', () => {
  it('goes on with an init whose client has gone, says so to its repeat, and then answers it', async () => {
    const server = await start();
    const before = Number(await burned());
    const key = randomUUID();
    // Nothing lands before the repeat was answered.
    node.faults.set([{ fault: 'drop' }]);
    const client = new AbortController();
    const left = expect(post(server, 'init', { pipelines }, key, client.signal)).rejects.toThrow();
    while ((await current(server)) === null) await setTimeout(LOOK_MS);
    client.abort();
    await left;
    expect(await untilItWaits(server, key)).toMatch(
      /still running, waiting for the chain to confirm \d+ transactions?, \w+ first/,
    );
    node.faults.set([]);
    const batch = await untilFinalized(server);
    const replay = await post(server, 'init', { pipelines }, key);
    expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    const answer = (await replay.json()) as InitBatchResult;
    expect(answer.batch.id).toBe(batch.id);
    await execute(server, answer);
    expect(Number(await burned()) - before).toBe(6);
  }, 60_000);
});
