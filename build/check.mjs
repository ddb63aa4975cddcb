/** `npm run check`: lint, types and build beside each other, then all tests. The output of each comes when it has ended. */
import { spawn } from 'node:child_process';

/** @returns whether the script succeeded. */
function run(script, ...words) {
  const startedMs = performance.now();
  const child = spawn('npm', ['run', '--silent', script, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
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

// The compiler takes one core for as long as the others take together.
const buildThenLint = async () => [await run('build', '--', '--no-types'), await run('lint')].every(Boolean);
const areFine = (await Promise.all([run('types'), buildThenLint()])).every(Boolean);
if (areFine)
  spawn('npm', ['run', '--silent', 'test:all'], { stdio: 'inherit' }).once('close', (status) => {
    process.exitCode = status ?? 1;
  });
else process.exitCode = 1;
