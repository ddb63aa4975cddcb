/** The spinner on a terminal, as it is drawn and taken away. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BurnBatchProgress } from '../../../src/cli/burn-batch/progress.js';
import type { Part } from '../../../src/cli/burn-batch/stages.js';
import type { Session } from '../../../src/cli/command.js';
import { asciiText, drawingOf } from '../../../src/cli/output/drawing.js';
import { barText, type Measured, measuredText } from '../../../src/cli/output/measure.js';
import { createProgress } from '../../../src/cli/output/progress.js';
import type { ElementOutcome } from '../../../src/contract/call.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';

/** A terminal that is 20 columns wide, and what was written to it. */
function terminal(isTTY = true) {
  let written = '';
  return {
    stream: {
      write: (text: string) => {
        written += text;
      },
      drained: async () => undefined,
      flush: async () => null,
      isTTY,
      columns: 20,
      closed: false,
    },
    written: () => written,
  };
}
const signals = (): number => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM');

describe('burn-batch', () => {
  it('says how far it is, how fast and for how long, and what is open when it cannot go on', () => {
    const warned: string[] = [];
    let look: (() => Measured) | undefined;
    const session = {
      output: {
        progress: {
          measure: (given: () => Measured) => {
            look = given;
          },
        },
        warn: (text: string) => warned.push(text),
      },
    } as unknown as Session;
    const parts = [60, 60].map((size) => ({ part: { size } as unknown as Part }));
    const progress = new BurnBatchProgress(session, parts);
    progress.stop(undefined);
    const unsent = new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'Too many.', { unsent: true });
    for (let index = 0; index < 120; index += 1) {
      if (index % 60 === 0) progress.send(parts[index / 60]?.part as Part);
      progress.count({ index, status: index === 3 ? 'error' : 'success' } as ElementOutcome);
      if (index === 70) progress.stop(undefined);
      if (index === 80) progress.stop(unsent);
    }
    progress.stop(undefined);
    expect(look?.()).toEqual({ noun: 'element', done: 120, failed: 1, total: 120 });
    expect(warned).toEqual([
      'Of 120 elements: 70 burned, 1 failed, 49 not known, 0 not attempted; the same command goes on from there.',
      'Of 120 elements: 80 burned, 1 failed, 0 not known, 39 not attempted; the same command goes on from there.',
    ]);
  });
});

describe('what is measured', () => {
  const at = (done: number): Measured => ({ noun: 'element', done, failed: 3, total: 10_000 });
  const begun = { atMs: 1_000, done: 100 };

  it('has a rate and a time left, both of this run only', () => {
    expect(measuredText(at(1_100), begun, 5_000)).toBe(
      '1,100 of 10,000 elements, 3 failed, 250/s, about 36 s left',
    );
    expect(measuredText(at(102), begun, 5_000)).toMatch(/, 0\.5\/s, about 329 min 56 s left$/);
    expect(measuredText(at(100), begun, 5_000)).toBe('100 of 10,000 elements, 3 failed');
    expect(measuredText({ ...at(10_000), failed: 0 }, begun, 5_000)).toBe(
      '10,000 of 10,000 elements, 2,475/s',
    );
  });

  it('has a bar where there is room for one', () => {
    expect(barText(at(2_500), 'text', 120)).toBe(`${'█'.repeat(7)}${'░'.repeat(23)} text`);
    expect(barText(at(2_500), 'text', 15)).toBe('██░░░░░░ text');
    expect(barText(at(2_500), 'text', 12)).toBe('text');
  });
});

describe('progress', () => {
  let listening = 0;
  let nowMs = 0;
  const terms = { wanted: true, accessible: false, ascii: false, nowMs: () => nowMs };
  beforeEach(() => {
    listening = signals();
    nowMs = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
    expect(signals()).toBe(listening);
  });
  /** Lets time pass, and what was loaded in it come in. */
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
    await import('../../../src/cli/output/spinner.js');
    await new Promise((resolve) => setImmediate(resolve));
  };

  it('draws nothing for half a second, then the last text on one line, and takes it away', async () => {
    const { stream, written } = terminal();
    const progress = createProgress(stream, terms);
    progress.show('first');
    await pass(400);
    expect(written()).toBe('');
    progress.show('second\n\u001b[31m, longer than the line');
    await pass(101);
    expect(written()).toContain('second');
    expect(written()).not.toContain('first');
    expect(written()).not.toContain('\n');
    expect(written()).not.toContain('line');
    progress.clear();
    expect(written().endsWith('\u001b[1G\u001b[0K')).toBe(true);
    const cleared = written();
    progress.clear();
    progress.show('third');
    await pass(501);
    expect(written().slice(cleared.length)).toContain('third');
    progress.clear();
  });

  it('says how long it has taken, and never hides the cursor', async () => {
    const { stream, written } = terminal();
    const progress = createProgress(stream, terms);
    progress.show('working');
    progress.wait('something else');
    await pass(501);
    await pass(2_000);
    expect(written()).toContain('(2 s) working');
    expect(written()).not.toContain('something');
    expect(written()).not.toContain('\u001b[?25l');
    progress.clear();
  });

  it('draws how far it is now, in ASCII where the terminal has no more', async () => {
    const { stream, written } = terminal();
    const wide = { ...stream, columns: 80 };
    const progress = createProgress(wide, { ...terms, ascii: true });
    let done = 0;
    const look = (): Measured => ({ noun: 'burn', done, failed: 0, total: 4 });
    progress.measure(look);
    done = 2;
    await pass(501);
    expect(written()).toContain(`- ${'#'.repeat(11)}${'-'.repeat(12)} 2 of 4 burns, 4.0/s, about 1 s left`);
    progress.clear();
  });

  it('keeps no process alive that forgets to take it away', async () => {
    vi.useRealTimers();
    const { stream } = terminal();
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    const progress = createProgress(stream, terms);
    progress.show('first');
    expect(timers()).toBeLessThanOrEqual(before);
    progress.clear();
  });

  it('draws nothing that was over within half a second', async () => {
    const { stream, written } = terminal();
    const progress = createProgress(stream, terms);
    progress.show('first');
    progress.clear();
    await pass(1_000);
    expect(written()).toBe('');
  });

  it('says it in a line every ten seconds where it is no terminal', async () => {
    const { stream, written } = terminal(false);
    const progress = createProgress(stream, terms);
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

  it('says it in lines of ASCII to who asked for it, the first one soon', async () => {
    const { stream, written } = terminal();
    const progress = createProgress(stream, { ...terms, accessible: true, ascii: true });
    progress.show('working …');
    await pass(501);
    await pass(10_000);
    expect(written()).toBe('working ...\n(10 s) working ...\n');
    progress.clear();
  });

  it('says nothing where it is not wanted', async () => {
    for (const isTTY of [true, false]) {
      const { stream, written } = terminal(isTTY);
      const progress = createProgress(stream, { ...terms, wanted: false });
      progress.show('text');
      await pass(20_000);
      progress.clear();
      expect(written()).toBe('');
    }
  });
});

describe('what may be drawn', () => {
  it.each([
    [{}, false, { accessible: false, ascii: false }],
    [{}, true, { accessible: true, ascii: true }],
    [{ FLYWHEEL_ACCESSIBLE: '1' }, false, { accessible: true, ascii: true }],
    [{ FLYWHEEL_ACCESSIBLE: '0' }, false, { accessible: false, ascii: false }],
    [{ TERM: 'dumb' }, false, { accessible: true, ascii: true }],
    [{ TERM: 'linux' }, false, { accessible: false, ascii: true }],
    [{ LANG: 'de_DE.UTF-8' }, false, { accessible: false, ascii: false }],
    [{ LANG: 'C' }, false, { accessible: false, ascii: true }],
    [{ LANG: 'de_DE.UTF-8', LC_ALL: 'C' }, false, { accessible: false, ascii: true }],
    [{ LANG: 'C', LC_CTYPE: 'C.utf8' }, false, { accessible: false, ascii: false }],
  ])('by %j and the flag %s', (env, flag, expected) => {
    expect(drawingOf(env, flag)).toEqual(expected);
  });

  it('stands in ASCII for what is ours, and leaves the text of others', () => {
    expect(asciiText('1 → 2 … ██ Österreich')).toBe('1 -> 2 ... ## Österreich');
  });
});
