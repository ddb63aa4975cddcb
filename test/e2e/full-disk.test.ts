/** A disk that is full in the middle of a command: what may have been done in part is told as that, and goes on when there is room. */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { anOperator, makeTemplate, resumeLineOf, type Template } from '../support/operator.js';

const PROGRAM = join(process.cwd(), 'bin/flywheel.js');
/** In five requests, of which each makes the files some 300 KiB larger. */
const ELEMENTS = 5_000;
const ROOM_KIB = 1_000;

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});

describe('a burn-batch for which there is not enough room', () => {
  it('ends with 7 and a line that finishes it once there is', async () => {
    const operator = await anOperator('embedded', template);
    const burn = { type: 'PRODUCT_BUY', burnAmount: 1, persistOnchain: false };
    const file = operator.write(
      'burns.json',
      Array.from({ length: ELEMENTS }, (_, n) => ({ ...burn, proof: { n } })),
    );
    // No file may grow beyond the limit, as on a disk that is full.
    const limited = `ulimit -f ${ROOM_KIB}; exec '${process.execPath}' '${PROGRAM}' "$@"`;
    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['-c', limited, 'flywheel', 'burn-batch', file, '--json'],
      {
        cwd: operator.directory,
        env: { HOME: operator.directory, PATH: process.env['PATH'], TMPDIR: tmpdir() },
        encoding: 'utf8',
      },
    );
    const { burned } = await operator.happened();
    expect([Number(burned) > 0, Number(burned) < ELEMENTS]).toEqual([true, true]);
    expect([status, stdout, JSON.parse(stderr.trim().split('\n').at(-1) ?? '')]).toMatchObject([
      7,
      '',
      {
        error: 'ERR_OUTCOME_UNKNOWN',
        message: expect.stringContaining('store.db cannot be read or written'),
      },
    ]);
    const line = resumeLineOf({ exit: status, signal: null, stdout, stderr });
    const resumed = await operator.paste(line);
    expect([resumed.exit, JSON.parse(resumed.stdout).success.length]).toEqual([0, ELEMENTS]);
    expect([(await operator.happened()).burned, await operator.pending()]).toEqual([String(ELEMENTS), []]);
  });
});
