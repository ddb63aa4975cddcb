/** Commands on this machine that are killed or interrupted at their commits: what is pending then finishes each, once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEEDS, expectDone } from '../support/deeds.js';
import {
  anOperator,
  type Fault,
  makeTemplate,
  type Operator,
  resumeLineOf,
  type Template,
} from '../support/operator.js';
import type { Spawned } from '../support/spawn.js';

/** How many points of a command are tried; with EVERY_POINT=1 all of them. */
const SAMPLES = 3;

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});

/** Points in even steps, the first and the last among them. */
function sampled(count: number): readonly number[] {
  if (process.env['EVERY_POINT'] === '1') return Array.from({ length: count }, (_, index) => index + 1);
  const step = (count - 1) / (SAMPLES - 1);
  return Array.from({ length: SAMPLES }, (_, index) => 1 + Math.round(index * step));
}

describe.each(Object.entries(DEEDS).filter(([title]) => !title.includes('setting up')))(
  '%s',
  (_title, deed) => {
    const ready = async (): Promise<{ operator: Operator; words: readonly string[] }> => {
      const operator = await anOperator('embedded', template);
      return { operator, words: [...(await deed.words(operator, 'file')), '--json'] };
    };

    const points = async (): Promise<readonly number[]> => {
      const { operator, words } = await ready();
      const countFile = join(operator.directory, 'count');
      expect((await operator.runWith({ countFile }, ...words)).exit).toBe(0);
      const count = Number(readFileSync(countFile, 'utf8'));
      expect(count).toBeGreaterThan(SAMPLES);
      return sampled(count);
    };

    const NOTHING = { burned: '0', usedToday: { burn: '0', airdrop: '0' }, batches: [] };

    const runs = async (operator: Operator, words: readonly string[]): Promise<void> => {
      const { exit, stderr } = await operator.run(...words);
      expect([exit, exit === 0 ? '' : stderr]).toEqual([0, '']);
    };

    /** Pastes the lines of what is pending. @returns whether there was something. */
    const resumes = async (operator: Operator, broken: Spawned): Promise<boolean> => {
      const rows = await operator.pending();
      if (broken.exit === 130) expect(resumeLineOf(broken)).toEqual(rows[0]?.resume ?? '');
      for (const { resume } of rows) {
        const resumed = await operator.paste(resume);
        expect([resumed.exit, resumed.exit === 0 ? '' : resumed.stderr]).toEqual([0, '']);
      }
      if (rows.length > 0) expectDone(NOTHING, await operator.happened(), deed);
      return rows.length > 0;
    };

    /** After the fault: the line that is printed or listed, then the command itself, unless that is a new one each time. */
    const through = async (fault: Fault): Promise<void> => {
      const { operator, words } = await ready();
      const broken = await operator.runWith(fault, ...words);
      const isOver = (await resumes(operator, broken)) || broken.stdout !== '';
      if (!isOver || deed.isNewEachTime !== true) await runs(operator, words);
      expectDone(NOTHING, await operator.happened(), deed);
      expect(await operator.pending()).toEqual([]);
    };

    /** Tells which point it was that failed. */
    const throughEach = async (signal: 'SIGINT' | 'SIGKILL', list: readonly number[]): Promise<void> => {
      for (const point of list) {
        await through({ signal, point }).catch((error: Error) => {
          error.message = `${signal} at point ${point}: ${error.message}`;
          throw error;
        });
      }
    };

    it('is finished once, wherever it is killed', async () => {
      await throughEach('SIGKILL', await points());
    });

    it('is finished once, wherever it is interrupted', async () => {
      await throughEach('SIGINT', (await points()).slice(1, -1));
    });
  },
);
