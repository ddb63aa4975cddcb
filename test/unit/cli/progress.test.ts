/** The spinner on a terminal, as it is drawn and taken away. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgress } from '../../../src/cli/output/progress.js';

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
