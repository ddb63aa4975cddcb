/**
 * `npm run check`: builds, then runs all tests with types and lint beside them, which work while tests wait. The output of each
 * comes when it has ended.
 */
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';

const npm = (stdio, ...words) => spawn('npm', ['run', '--silent', ...words], { stdio });

/** @returns whether the script succeeded. */
function run(script, ...words) {
  const startedMs = performance.now();
  const child = npm(['ignore', 'pipe', 'pipe'], script, ...words);
  setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  return new Promise((done) =>
    child.once('close', (status) => {
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      process.stdout.write(`== ${script}: ${status === 0 ? 'ok' : 'FAILED'} in ${seconds} s\n${output}`);
      done(status === 0);
    }),
  );
}

const passes = (child) => new Promise((done) => child.once('close', (status) => done(status === 0)));

let isFine = await run('build', '--', '--no-types');
if (isFine) {
  const beside = Promise.all([run('types'), run('lint')]);
  const tests = await passes(npm('inherit', 'test:all'));
  isFine = (await beside).every(Boolean) && tests;
}
process.exitCode = isFine ? 0 : 1;
