/** Where the results of a command may go: not over the file that it reads, nor where they could not be read again. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testCli } from '../../../support/in-process.js';

const BURNS = '[{"type":"T","proof":{"id":"1"},"burnAmount":1,"persistOnchain":false}]';
const PIPELINES = '[{"type":"T","payload":{"id":"1"},"actions":[{"action":"BURN","amount":1}]}]';

const COMMANDS = [
  ['burn-batch', BURNS, '--failed-out'],
  ['batch init', PIPELINES, '--failed-out'],
  ['batch init', PIPELINES, '--out'],
  ['batch run --yes', PIPELINES, '--failed-out'],
] as const;

async function refusal(words: string, text: string, option: string, out: string) {
  const cli = testCli({});
  const input = join(cli.home, 'in.json');
  writeFileSync(input, text);
  symlinkSync('in.json', join(cli.home, 'link.json'));
  const { exit, stderr } = await cli.run(...words.split(' '), 'in.json', option, out);
  expect([exit, cli.service.calls, readFileSync(input, 'utf8')]).toEqual([2, [], text]);
  return JSON.parse(stderr).message as string;
}

describe('a file that is written to', () => {
  it.each(COMMANDS)('is not the one that %s reads: %s %s', async (words, text, option) => {
    for (const out of ['in.json', './in.json', 'link.json'])
      expect(await refusal(words, text, option, out)).toContain('it is the file that is read');
  });

  it.each(COMMANDS.filter(([, , option]) => option === '--failed-out'))(
    'has no name by which %s would read it as a table: %s %s',
    async (words, text, option) => {
      expect(await refusal(words, text, option, 'failed.CSV')).toContain('would be read as a table');
    },
  );
});
