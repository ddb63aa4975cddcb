/** The local workflow of a user through the built program, in an empty home. */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { besides, flywheelHere } from '../support/flywheel-here.js';
import { initHome } from '../support/http-serve.js';
import { describeLong } from '../support/long.js';
import { emptyDirectory } from '../support/spawn.js';

const home = emptyDirectory();
const run = (...words: string[]) => flywheelHere({ home }, ...words);
const json = async (...words: string[]) => {
  const { exit, stdout, stderr } = await run(...words);
  const failures = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"notice":'));
  expect({ words, exit, failures }).toEqual({ words, exit: 0, failures: [] });
  return JSON.parse(stdout);
};

let owner = '';

beforeAll(async () => {
  const initiated = await json('local', 'init', '--decimals', '6', '--daily-burn', '1000');
  owner = initiated.owner.keypair;
});

describe('local init', () => {
  it('leaves a private owner keypair, and a second one is refused and changes nothing', async () => {
    expect(statSync(owner).mode & 0o777).toBe(0o600);
    const before = await json('local', 'status');
    const { exit, stdout, stderr } = await run('local', 'init');
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(JSON.parse(stderr).error).toBe('ERR_LOCAL_ALREADY_EXISTS');
    expect(await json('local', 'status')).toEqual(before);
  });

  it('keeps all that it writes from others, the copy of a program too', () => {
    const open = readdirSync(home, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => (statSync(path).mode & 0o077) !== 0);
    expect(open).toEqual([]);
  });

  it('says what is missing where there is none', async () => {
    const { exit, stderr } = await flywheelHere({ home: emptyDirectory() }, 'local', 'status');
    expect(exit).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: 'ERR_LOCAL_NOT_FOUND' });
  });
});

describe('demo', () => {
  it('ends with an executed batch, whatever profile is current, and its commands can be run again', async () => {
    const home = { home: emptyDirectory() };
    const address = join(home.home, 'database');
    writeFileSync(address, 'postgres://me:secret@127.0.0.1:1/other', { mode: 0o600 });
    await flywheelHere(home, 'profile', 'add', 'current', '--database-url-file', address);
    const { exit, stdout, stderr } = await flywheelHere(home, 'demo', '--json');
    expect(exit).toBe(0);
    const report = JSON.parse(stdout);
    expect(report.batch.status).toBe('EXECUTED');
    expect(report.result.totalSuccessful).toBe(7);
    // The amounts of the files, to the base unit.
    expect(report.before).toMatchObject({ burned: '0', vault: '1000000' });
    expect(report.after).toMatchObject({ burned: '18.5', vault: '999975.75' });
    expect([report.before.supply, report.after.supply]).toEqual(['1000000000', '999999981.5']);
    for (const { txHashes } of report.result.successfulExecutions)
      for (const hash of txHashes) expect(stderr).toContain(`transaction ${hash}`);
    const again = report.commands.find((line: string) => line.startsWith('flywheel batch run'));
    const words = again.split(' ').slice(1);
    const repeated = await run(...words, '--json');
    expect([repeated.exit, JSON.parse(repeated.stdout).result]).toEqual([0, report.result]);
  });
});

describeLong('a symbol that reads as a part of an amount', () => {
  it.each(['e6', 'O00', 'M'])('is quoted behind each amount: %s', async (symbol) => {
    const home = await initHome('--symbol', symbol, '--daily-burn', '10');
    const shown = async (...words: string[]) => {
      const { stdout, stderr } = await besides(home, ...words);
      return stdout + stderr;
    };
    const status = await shown('local', 'status', '--output', 'human');
    expect(status).toContain(`1,000,000,000 "${symbol}"`);
    const burn = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"a":1}', '--output', 'human'];
    expect(await shown(...burn, '--amount', '5')).toContain(`5 "${symbol}"`);
    const refused = await shown(...burn, '--amount', '6');
    expect(refused).toContain(`10 "${symbol}"`);
    for (const text of [status, refused]) expect(text).not.toMatch(new RegExp(`\\d ${symbol}\\b`));
  });
});
