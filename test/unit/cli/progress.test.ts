/** The spinner on a terminal, as it is drawn and taken away. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BurnBatchProgress } from '../../../src/cli/burn-batch/progress.js';
import type { Part } from '../../../src/cli/burn-batch/stages.js';
import type { Session } from '../../../src/cli/command.js';
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
  it('says every fifty elements how far it is and how long it will take, and at the end', () => {
    const [shown, warned]: [string[], string[]] = [[], []];
    let nowMs = 0;
    const session = {
      context: { clock: { nowMs: () => nowMs } },
      output: {
        progress: { show: (text: string) => shown.push(text) },
        warn: (text: string) => warned.push(text),
      },
    } as unknown as Session;
    const indexes = Array.from({ length: 60 }, (_, index) => index);
    const parts = [indexes, indexes].map((own) => ({ part: { indexes: own } as unknown as Part }));
    const progress = new BurnBatchProgress(session, parts);
    progress.stop(undefined);
    for (let index = 0; index < 120; index += 1) {
      nowMs += 100;
      if (index % 60 === 0) progress.send(parts[index / 60]?.part as Part);
      progress.count({ index, status: index === 3 ? 'error' : 'success' } as ElementOutcome);
      if (index === 70) progress.stop(undefined);
      if (index === 80)
        progress.stop(new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'Too many.', { unsent: true }));
    }
    progress.stop(undefined);
    expect(shown).toEqual([
      '50 of 120 elements, 1 failed, about 7 s left',
      '100 of 120 elements, 1 failed, about 2 s left',
      '120 of 120 elements, 1 failed, about 0 s left',
    ]);
    expect(warned).toEqual([
      'Of 120 elements: 70 burned, 1 failed, 49 not known, 0 not attempted; the same command goes on from there.',
      'Of 120 elements: 80 burned, 1 failed, 0 not known, 39 not attempted; the same command goes on from there.',
    ]);
  });
});

describe('progress', () => {
  let listening = 0;
  beforeEach(() => {
    listening = signals();
  });
  afterEach(() => {
    expect(signals()).toBe(listening);
  });

  it('draws the last text on one line, and takes it away', async () => {
    const { stream, written } = terminal();
    const progress = createProgress(stream, true);
    progress.show('first');
    progress.show('second\n\u001b[31m, longer than the line');
    await vi.waitFor(() => expect(written()).toContain('second'));
    expect(written()).not.toContain('first');
    expect(written()).not.toContain('\n');
    expect(written()).not.toContain('line');
    progress.clear();
    expect(written().endsWith('\u001b[1G\u001b[0K')).toBe(true);
    const cleared = written();
    progress.clear();
    progress.show('third');
    expect(written().slice(cleared.length)).toContain('third');
    progress.clear();
  });

  it('keeps no process alive that forgets to take it away', async () => {
    const { stream, written } = terminal();
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    const progress = createProgress(stream, true);
    progress.show('first');
    await vi.waitFor(() => expect(written()).toContain('first'));
    expect(timers()).toBeLessThanOrEqual(before);
    progress.clear();
  });

  it('draws nothing that was cleared before it was drawn', async () => {
    const { stream, written } = terminal();
    const progress = createProgress(stream, true);
    progress.show('first');
    progress.clear();
    await import('../../../src/cli/output/spinner.js');
    await new Promise((resolve) => setImmediate(resolve));
    expect(written()).toBe('');
  });

  it('draws nothing in a pipe, and nothing where it is not wanted', async () => {
    for (const [isTTY, wanted] of [
      [false, true],
      [true, false],
    ] as const) {
      const { stream, written } = terminal(isTTY);
      const progress = createProgress(stream, wanted);
      progress.show('text');
      await new Promise((resolve) => setImmediate(resolve));
      progress.clear();
      expect(written()).toBe('');
    }
  });
});
