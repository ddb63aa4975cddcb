import type { Reporter, TestModule } from 'vitest/node';

/** Prints one line at the end that any tool can parse. */
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
    process.on('exit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`));
  }
}
