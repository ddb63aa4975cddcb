import { relative, sep } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SLOWEST = 10;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1).padStart(7)} s`;

/** Milliseconds for loading a file, its hooks and its tests. */
function timeOf(module: TestModule): number {
  const { setupDuration, collectDuration, prepareDuration, environmentSetupDuration, duration } =
    module.diagnostic();
  return setupDuration + collectDuration + prepareDuration + environmentSetupDuration + duration;
}

function times(modules: ReadonlyArray<TestModule>): string {
  const files = modules
    .map((module) => ({ ms: timeOf(module), path: relative(process.cwd(), module.moduleId) }))
    .sort((a, b) => b.ms - a.ms);
  const suites = new Map<string, number>();
  for (const { path, ms } of files) {
    const suite = path.split(sep).slice(0, 2).join('/');
    suites.set(suite, (suites.get(suite) ?? 0) + ms);
  }
  const line = ([name, ms]: readonly [string, number]) => `${seconds(ms)}  ${name}`;
  return [
    'Time by suite, all workers together:',
    ...[...suites].sort(([, a], [, b]) => b - a).map(line),
    `The ${SLOWEST} slowest files:`,
    ...files.slice(0, SLOWEST).map(({ path, ms }) => line([path, ms])),
  ].join('\n');
}

/** Prints the slowest files, and one line at the end that any tool can parse. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    let passed = 0;
    let failed = 0;
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (test.result().state === 'passed') passed += 1;
        else failed += 1;
      }
      if (module.state() === 'failed' && module.errors().length > 0) failed += 1;
    }
    process.on('exit', () => process.stdout.write(`${times(modules)}\n${passed} passed, ${failed} failed\n`));
  }
}
