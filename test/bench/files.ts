/** The memory of a burn-batch, by how many elements its file has; minutes long, so that it runs only where it is asked for. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runNode } from './processes.js';
import { type BenchRatio, median } from './ratio.js';

const FEW = 10_000;
const MANY = 1_000_000;
/** Runs of few; they differ by some 3 %. */
const RUNS = 5;

type Kind = 'ndjson' | 'csv';

const LINES: Readonly<Record<Kind, (index: number) => string>> = {
  csv: (index) => `PRODUCT_BUY,0.000001,A-${index}\n`,
  ndjson: (index) =>
    `{"type":"PRODUCT_BUY","proof":{"order":"A-${index}"},"burnAmount":0.000001,"persistOnchain":false}\n`,
};

async function writeElements(file: string, kind: Kind, count: number): Promise<void> {
  const stream = createWriteStream(file);
  if (kind === 'csv') stream.write('type,amount,proof.order\n');
  for (let index = 0; index < count; index += 1)
    if (!stream.write(LINES[kind](index))) await once(stream, 'drain');
  stream.end();
  await once(stream, 'finish');
}

/** A service that burns everything at once, so that only the command is measured. */
async function standIn() {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isBurn = request.method === 'POST';
    const burns = isBurn
      ? (JSON.parse(Buffer.concat(chunks).toString()) as { type: string; proof: object }[])
      : [];
    const success = burns.map(({ type, proof }) => ({
      ...{ result: 'SUCCESS', type, txHash: '5'.repeat(88), dateBurned: '2026-01-31T12:00:00.000Z' },
      hash: createHash('sha256').update(JSON.stringify(proof)).digest('hex'),
    }));
    const body = isBurn ? { success, errors: [] } : { error: 'ERR_NOT_FOUND', message: 'There is nothing.' };
    response.writeHead(isBurn ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() };
}

/** The most memory that burning a file of so many elements takes, in MiB. */
async function peakOf(
  bin: string,
  env: NodeJS.ProcessEnv,
  url: string,
  kind: Kind,
  count: number,
): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'flywheel-bench-files-'));
  try {
    const file = join(directory, `burns.${kind}`);
    await writeElements(file, kind, count);
    const words = ['burn-batch', file, '--output', 'ndjson'];
    const own = {
      ...env,
      FLYWHEEL_CONFIG_DIR: directory,
      FLYWHEEL_API_URL: url,
      FLYWHEEL_API_KEY: 'fk_bench',
    };
    return (await runNode([bin, ...words], own, true)).peakMib;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export async function benchFiles(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const { url, stop } = await standIn();
  try {
    const ratios: BenchRatio[] = [];
    for (const kind of ['ndjson', 'csv'] as const) {
      const few: number[] = [];
      for (let run = 0; run < RUNS; run += 1) few.push(await peakOf(bin, env, url, kind, FEW));
      const many = await peakOf(bin, env, url, kind, MANY);
      ratios.push({
        name: `burn-batch from ${kind}, peak memory, ${MANY} elements : ${FEW}`,
        ratio: many / median(few),
        target: 1.1,
      });
    }
    return ratios;
  } finally {
    stop();
  }
}
