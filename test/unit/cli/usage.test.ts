/** Words that make no command, help, and the mode in which errors are told. */
import { describe, expect, it } from 'vitest';
import { allCommands, helpPages } from '../../../src/cli/help/pages.js';
import { rateOptions } from '../../../src/cli/options/rates.js';
import { commandPath, runProgram } from '../../../src/cli/program.js';
import { testCli } from '../../support/in-process.js';

describe('runCli', () => {
  it('shows help without words and exits 0', async () => {
    const { exit, stdout, stderr } = await testCli().run();
    expect(exit).toBe(0);
    expect(stdout).toContain('Usage: flywheel [options] [command]');
    expect(stderr).toBe('');
  });

  it.each([
    [['brun'], 'Unknown command', 'Did you mean burn?'],
    [['batch'], 'A word is missing after `flywheel batch`', 'flywheel batch --help'],
    [['local', 'keys', 'lst'], 'Unknown command', 'Did you mean list?'],
    [
      ['burn', '--type', 'T'],
      "Required options '--proof <json>' and '--amount <n>' not specified.",
      '`flywheel burn --help`',
    ],
    [
      ['burn'],
      "Required options '--type <type>', '--proof <json>' and '--amount <n>' not specified.",
      '`flywheel burn --help`',
    ],
    [['burn', '--type', 'T', '--proof', '{}'], "Required option '--amount <n>' not specified.", '--help'],
    [['burn', '--tpye', 'T'], "Unknown option '--tpye'.", 'Did you mean --type?'],
    [['burn', '--proof', '{}', '--ammount=3'], "Unknown option '--ammount=3'.", '--amount'],
    [['burn-batch'], 'Missing required argument', '--help'],
    [['--output', 'xml', 'whoami'], 'Allowed choices are human, json, ndjson, csv.', '--help'],
    [['whoami', '--timeout', 'soon'], '--timeout takes seconds', undefined],
    [['whoami', '--local', '--api-url', 'https://a.example'], 'exclude each other', undefined],
    [['local', 'keys', 'create', '--scope', 'brun'], 'Allowed choices are burn, airdrop.', '--help'],
    [['pending', 'forget'], '`flywheel pending forget` needs an id.', undefined],
    [['help', 'nothing'], 'There is no help for', 'Topics: environment, exit-codes, files, output.'],
  ])('refuses %j with exit 2 and one JSON line', async (words, message, hint) => {
    const { exit, stdout, stderr } = await testCli().run(...words);
    expect(exit).toBe(2);
    expect(stdout).toBe('');
    const error = JSON.parse(stderr);
    expect(error.error).toBe('ERR_USAGE');
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/[^.]\.$/);
    if (hint !== undefined) expect(error.hint).toContain(hint);
  });

  it('tells people what went wrong in two lines on a terminal', async () => {
    const cli = testCli({ tty: { stdout: true }, env: { NO_COLOR: '1' } });
    const { exit, stderr } = await cli.run('brun');
    expect(exit).toBe(2);
    expect(stderr).toBe("error: Unknown command 'brun'. (ERR_USAGE)\nhint: Did you mean burn?\n");
  });

  it('hides what is inside unless FLYWHEEL_DEBUG is set', async () => {
    const openers = { openLocal: () => Promise.reject(new TypeError('secret detail')) };
    const quiet = await testCli({ openers }).run('local', 'status');
    expect(quiet.exit).toBe(1);
    expect(JSON.parse(quiet.stderr).error).toBe('ERR_INTERNAL');
    expect(quiet.stderr).not.toContain('secret detail');
    const loud = await testCli({ openers, env: { FLYWHEEL_DEBUG: '1' } }).run('local', 'status');
    expect(loud.stderr).toContain('TypeError: secret detail');
  });
});

describe('--rate', () => {
  it('counts in seconds, minutes and hours, or in several of them', () => {
    const given = ['burn=100/s', 'status=2/min', 'list=3/h', 'burn-batch=1/10s'];
    expect(rateOptions(given).rates).toEqual({
      burn: { points: 100, windowSeconds: 1 },
      getBatch: { points: 2, windowSeconds: 60 },
      listBatches: { points: 3, windowSeconds: 3_600 },
      burnBatch: { points: 1, windowSeconds: 10 },
    });
  });
});

describe('--help', () => {
  /** The help of a command as a terminal of this width shows it. */
  const shown = async (path: readonly string[], columns: number): Promise<readonly string[]> => {
    let text = '';
    const program = { version: '0.0.0', width: columns, execute: async () => undefined };
    const write = (part: string): void => {
      text += part;
    };
    await runProgram({ ...program, write }, [...path, '--help']);
    return text.split('\n');
  };

  it('fits a screen of 24 lines of 80 columns for every command, prompt and all, and leads to the rest', async () => {
    const paths = (await allCommands('0.0.0')).map((command) => commandPath(command).split(' ').slice(1));
    expect(paths.length).toBeGreaterThan(50);
    for (const path of paths) {
      const lines = await shown(path, 80);
      expect(lines.length, path.join(' ')).toBeLessThanOrEqual(24);
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
      expect(lines.at(-2), path.join(' ')).toContain(
        `flywheel help${path.map((word) => ` ${word}`).join('')}`,
      );
    }
  });

  it('names every command, and every option that has to be given, even where not all of them fit', async () => {
    for (const command of await allCommands('0.0.0')) {
      const path = commandPath(command).split(' ').slice(1);
      const text = (await shown(path, 60)).join('\n');
      for (const option of command.options.filter(({ mandatory }) => mandatory))
        expect(text, path.join(' ')).toContain(option.long ?? '');
      for (const below of command.commands) expect(text, path.join(' ')).toContain(below.name());
    }
  });
});

describe('helpPages', () => {
  it('has output, exit numbers and examples that begin with the command on every page of a command', async () => {
    const pages = await helpPages('0.0.0', 80);
    expect(pages.map(({ command }) => command)).toContain('flywheel local keys create --help --all');
    expect(pages.map(({ command }) => command)).toContain('flywheel help files');
    for (const { command, text } of pages.filter((page) => page.text.includes('Examples:'))) {
      expect(text, command).toMatch(/\nOutput:\n {2}\S/);
      expect(text, command).toMatch(/\nExamples:\n {2}\$ \S/);
    }
    expect(pages.filter(({ text }) => text.includes('Examples:')).length).toBeGreaterThan(25);
  });
});
