/** The samples of the documentation page, each run as its reader would: what one prints is what the next one needs. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { transform } from 'esbuild';
import { besides, type ServedHome, type ServeProcess } from './http-serve.js';

export type Language = 'shell' | 'typescript';
type Variables = Readonly<Record<string, string>>;
type Answer = Readonly<Record<string, unknown>>;

const UNESCAPED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** The samples of a language, by the id of their section. */
export function samplesOf(page: string, language: Language): ReadonlyMap<string, string> {
  const samples = new Map<string, string>();
  for (const [, id = '', section = ''] of page.matchAll(/<section id="([\w-]+)">(.*?)<\/section>/gs)) {
    const sample = new RegExp(`<code class="language-${language}">(.*?)</code>`, 's').exec(section)?.[1];
    if (sample !== undefined)
      samples.set(
        id,
        sample.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => UNESCAPED[entity] ?? entity),
      );
  }
  return samples;
}

/** Below node_modules, so that packages are found from there. */
export function sampleDirectory(): string {
  const directory = resolve('node_modules/.cache/flywheel', `samples-${randomUUID()}`);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Runs a program in an environment that has what it names and nothing else. @returns what it printed */
export function runProgram(program: string, words: readonly string[], variables: Variables): Promise<string> {
  const child = spawn(program, words, { env: { PATH: process.env['PATH'] ?? '', ...variables } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((done, failed) => {
    child.once('close', (exit) => (exit === 0 ? done(stdout) : failed(new TypeError(`${exit}: ${stderr}`))));
  });
}

/** Runs a sample of TypeScript in a process of its own. */
export async function runTypeScript(
  directory: string,
  sample: string,
  variables: Variables,
): Promise<string> {
  const file = join(directory, `${randomUUID()}.mjs`);
  writeFileSync(file, (await transform(sample, { loader: 'ts', format: 'esm' })).code);
  return runProgram(process.execPath, [file], variables);
}

export const runShell = (sample: string, variables: Variables): Promise<string> =>
  runProgram('/bin/bash', ['-euo', 'pipefail', '-c', sample], variables);

/** What came of each operation, by its id. */
export async function walkThrough(
  home: ServedHome,
  server: ServeProcess,
  language: Language,
): Promise<ReadonlyMap<string, Answer>> {
  const page = await (await fetch(`${server.url}/docs`)).text();
  const samples = samplesOf(page, language);
  const directory = sampleDirectory();
  const ownerKeypair = join(home.home, 'owner.json');
  await besides(home, 'local', 'export-owner', ownerKeypair);
  const answers = new Map<string, Answer>();
  const call = async (id: string, variables: Variables = {}): Promise<Answer> => {
    const sample = samples.get(id) ?? '';
    const all = {
      FLYWHEEL_URL: server.url,
      FLYWHEEL_API_KEY: home.key,
      IDEMPOTENCY_KEY: randomUUID(),
      ...variables,
    };
    const printed = await (language === 'shell'
      ? runShell(sample, all)
      : runTypeScript(directory, sample, all));
    const answer = JSON.parse(printed) as Answer;
    answers.set(id, answer);
    return answer;
  };
  const sign = async (transaction: unknown): Promise<string> => {
    const sample = samplesOf(page, 'typescript').get('approval') ?? '';
    const variables = { APPROVAL_TX: String(transaction), OWNER_KEYPAIR: ownerKeypair };
    return (await runTypeScript(directory, sample, variables)).trim();
  };
  const init = async (): Promise<readonly [string, unknown]> => {
    const { batch, proposalApproveTx } = await call('initBatch');
    return [String((batch as Answer)['id']), proposalApproveTx];
  };

  const [batch, approval] = await init();
  await call('executeBatch', { BATCH_ID: batch, SIGNED_TX: await sign(approval) });
  for (const id of ['getBatch', 'batchPipelines']) await call(id, { BATCH_ID: batch });
  const [other, otherApproval] = await init();
  await call('currentBatch');
  await call('issueApproval', { BATCH_ID: other });
  // Nobody has approved it, so that the operator alone can end it, whatever else is sent.
  await call('cancelBatch', { BATCH_ID: other, SIGNED_TX: await sign(otherApproval) });
  for (const id of samples.keys()) if (!answers.has(id) && id !== 'approval') await call(id);
  return answers;
}
