/**
 * `npm run check`: builds, then runs all tests; types and lint run beside both, and work while tests wait. The output of each
 * comes when it has ended.
 */
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';

const failed = [];

const npm = (stdio, ...words) => spawn('npm', ['run', '--silent', ...words], { stdio });

/** @returns once the script has ended. */
const ended = (script, child) =>
  new Promise((done) =>
    child.once('close', (status) => {
      if (status !== 0) failed.push(script);
      done();
    }),
  );

async function run(script, ...words) {
  const startedMs = performance.now();
  const child = npm(['ignore', 'pipe', 'pipe'], script, ...words);
  setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  await ended(script, child);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  process.stdout.write(
    `== ${script}: ${failed.includes(script) ? 'FAILED' : 'ok'} in ${seconds} s\n${output}`,
  );
}

async function tests() {
  await run('build', '--', '--no-types');
  if (!failed.includes('build')) await ended('test:all', npm('inherit', 'test:all'));
}

await Promise.all([tests(), run('types'), run('lint')]);
// The output of types and lint is far above that of the tests.
if (failed.length > 0) process.stdout.write(`Failed: ${failed.join(', ')}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
