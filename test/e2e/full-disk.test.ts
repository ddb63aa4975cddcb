/** A disk that fills up during a command: the command reports a possible partial result, and resumes when there is space. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sampleOf } from '../support/long.js';
import type { Spawned } from '../support/spawn.js';
import { anOperator, ending, resumeLineOf } from './operator.js';

const PROGRAM = join(process.cwd(), 'bin/flywheel.js');
/** More than one commit holds. */
const ELEMENTS = 700;
const ROOM_KIB = 400;

const inShell = (
  home: string,
  line: string,
): { readonly child: ChildProcess; readonly ended: Promise<Spawned> } => {
  const child = spawn('bash', ['-c', line], {
    env: { HOME: home, PATH: process.env['PATH'], TMPDIR: tmpdir() },
  });
  return { child, ended: ending(child) };
};

/** Limits around the first writes into a journal; each of them is tried. */
const FIRST_WRITES_KIB = [52, 54, 56, 58, 60, 62, 64];

it('a disk without room for the first write of the journal is exit 6, and nothing is burned', async () => {
  const operator = await anOperator('embedded');
  const burn = `burn --type WATCH_AD --proof '{"a":1}' --amount 1 --json`;
  for (const room of sampleOf(FIRST_WRITES_KIB, 1)) {
    for (const end of ['', '-wal', '-shm'])
      rmSync(join(operator.dataDir, `journal.db${end}`), { force: true });
    const limited = `ulimit -f ${room}; exec '${process.execPath}' '${PROGRAM}' ${burn}`;
    const { exit, stderr } = await inShell(operator.directory, limited).ended;
    expect([room, exit, JSON.parse(stderr).error]).toEqual([room, 6, 'ERR_STORE_UNAVAILABLE']);
    expect(JSON.parse(stderr).message).toContain('journal.db');
  }
  expect(await operator.happened()).toMatchObject({ burned: '0' });
});

it('a disk without room for the copy of the journal is exit 6 of a dry run, which names the copy', async () => {
  const operator = await anOperator('embedded');
  const burn = `burn --type WATCH_AD --proof '{"a":1}' --amount 1 --json`;
  await operator.paste(`flywheel ${burn}`);
  const limited = `ulimit -f 40; exec '${process.execPath}' '${PROGRAM}' ${burn} --dry-run`;
  const { exit, stderr } = await inShell(operator.directory, limited).ended;
  const { message } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  expect([exit, message]).toEqual([6, expect.stringContaining(`The copy of the journal ${tmpdir()}`)]);
});

describe('a burn-batch for which there is not enough room', () => {
  it('ends with 7 and a line that finishes it once there is', async () => {
    const operator = await anOperator('embedded');
    const burn = { type: 'PRODUCT_BUY', burnAmount: 1, persistOnchain: false };
    const file = operator.write(
      'burns.json',
      Array.from({ length: ELEMENTS }, (_, n) => ({ ...burn, proof: { n } })),
    );
    // `ulimit -f` limits the size of a file, which fails a write as a full disk does.
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
        message: expect.stringContaining('store.db could not be read or written'),
      },
    ]);
    const line = resumeLineOf({ exit: status, signal: null, stdout, stderr });
    const resumed = await operator.paste(line);
    expect([resumed.exit, JSON.parse(resumed.stdout).success.length]).toEqual([0, ELEMENTS]);
    expect([(await operator.happened()).burned, await operator.pending()]).toEqual([String(ELEMENTS), []]);
  });
});
