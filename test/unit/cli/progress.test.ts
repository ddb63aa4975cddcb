/** The spinner on a terminal: drawn, and cleared. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgress, type Measured, measuredText } from '../../../src/cli/output/progress.js';

describe('what is measured', () => {
  const at = (done: number): Measured => ({ noun: 'burn', done, failed: 3, total: 10_000 });
  const begun = { atMs: 1_000, done: 100 };

  it('has a rate and a time left, both of this run only', () => {
    const facts = (measured: Measured) =>
      measuredText(measured, begun, 5_000).match(/[\d.,]+(?:\/s| min| s)?/g);
    expect(facts(at(1_100))).toEqual(['1,100', '10,000', ',', '3', ',', '250/s', ',', '36 s']);
    expect(measuredText(at(102), begun, 5_000)).toMatch(/0\.5\/s.*329 min 56 s/);
    expect(measuredText(at(100), begun, 5_000)).not.toContain('/s');
    expect(measuredText({ ...at(10_000), failed: 0 }, begun, 5_000)).toMatch(/2,475\/s$/);
  });
});

describe('progress', () => {
  let nowMs = 0;
  let listening = 0;
  const signals = (): number => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM');
  beforeEach(() => {
    listening = signals();
    nowMs = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
    expect(signals()).toBe(listening);
  });

  /** Progress on a terminal of 20 columns, or without one, and the written text. */
  function progressOn(isTTY: boolean, terms = {}) {
    let text = '';
    const stream = {
      write: (more: string) => {
        text += more;
      },
      ...{ flush: async () => null, isTTY, columns: 20, closed: false },
    };
    const usual = { wanted: true, plain: !isTTY, nowMs: () => nowMs };
    return { progress: createProgress(stream, { ...usual, ...terms }), written: () => text };
  }
  /** Advances time, and lets dynamic imports complete. */
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
    await import('ora');
    await new Promise((resolve) => setImmediate(resolve));
  };

  it('draws nothing for half a second, then the last text on one line, and takes it away', async () => {
    const { progress, written } = progressOn(true);
    progress.show('first');
    await pass(400);
    expect(written()).toBe('');
    progress.show('second\n\u001b[31m, longer than the line');
    await pass(101);
    expect(written()).toContain('second');
    for (const text of ['first', '\n', 'line', '\u001b[?25l']) expect(written()).not.toContain(text);
    progress.clear();
    expect(written().endsWith('\u001b[1G\u001b[0K')).toBe(true);
    const cleared = written();
    progress.clear();
    progress.show('third');
    await pass(501);
    await pass(2_000);
    expect(written().slice(cleared.length)).toContain('(2 s) third');
    progress.clear();
  });

  it('draws nothing that was over within half a second, nor where it is not wanted', async () => {
    const { progress, written } = progressOn(true);
    progress.show('first');
    progress.clear();
    const unwanted = [true, false].map((isTTY) => progressOn(isTTY, { wanted: false }));
    for (const one of unwanted) one.progress.show('text');
    await pass(20_000);
    for (const one of unwanted) one.progress.clear();
    expect([written(), ...unwanted.map((one) => one.written())]).toEqual(['', '', '']);
  });

  it('says it in a line every ten seconds where it is no terminal', async () => {
    const { progress, written } = progressOn(false);
    progress.show('working');
    await pass(9_000);
    expect(written()).toBe('');
    await pass(1_001);
    progress.show('working on');
    await pass(10_000);
    expect(written()).toBe('(10 s) working\n(20 s) working on\n');
    progress.clear();
    await pass(30_000);
    expect(written().split('\n')).toHaveLength(3);
  });
});
