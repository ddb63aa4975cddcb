/** Command words, help for all commands, and the output mode of errors. */
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.js';
import { SHELLS } from '../../../src/cli/shell-completion.js';
import { shownWords } from '../../../src/cli/shell-line.js';
import { ERRORS } from '../../../src/errors/codes.js';
import { EXIT_CODES } from '../../../src/errors/exit-codes.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { fakeService } from '../../support/fake-service.js';
import { testCli } from '../../support/in-process.js';
import { helpPages } from '../docs/help-pages.js';
import { complaint, localWith, person, READER } from './single-command.js';

describe('completion', () => {
  it.each(SHELLS)('of %s asks the program what may follow', async (shell) => {
    const { exit, stdout } = await testCli().run('completion', shell);
    expect([exit, stdout]).toEqual([0, expect.stringContaining('flywheel __complete --')]);
  });

  const follows = async (...words: string[]): Promise<readonly string[]> => {
    const { exit, stdout } = await testCli(READER).run('__complete', '--', ...words);
    expect(exit).toBe(0);
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t')[0] ?? '');
  };

  it.each([
    ['ba', 'batch'],
    ['batch ap', 'approve'],
    ['batch approve x.json --wal', '--wallet'],
    ['--output js', 'json'],
    ['--output = js', 'json'],
    ['batch list --output js', 'json'],
    ['--output=js', '--output=json'],
    ['batch list --status F', 'FINALIZED', 'FAILED'],
    ['burn --type list --persist', '--persist-onchain'],
    ['--data-dir p', '@directories'],
    ['batch run pi', '@files'],
    ['__com'],
    ['local fund --to b', 'burn-wallet'],
    ['help ba', 'batch'],
    ['help exit', 'exit-codes'],
    ['help batch app', 'approve'],
  ])('of %j is %j', async (line, ...words) => {
    expect(await follows(...line.split(' '))).toEqual(words);
  });

  it('offers the options of all commands only where they have an effect', async () => {
    for (const word of ['burn', 'completion', 'help']) {
      const options = await follows(word, '--');
      expect([word, options.includes('--rpc-url')]).toEqual([word, word === 'burn']);
      expect(options).toContain('--json');
    }
  });

  it('names the profiles', async () => {
    const cli = testCli();
    const named = async () => (await cli.run('__complete', '--', '-p', '')).stdout;
    expect(await named()).toBe('');
    await cli.run('profile', 'add', 'staging', '--api-url', 'https://api.example.com');
    expect(await named()).toBe('staging\thttps://api.example.com\n');
  });
});

describe('help', () => {
  it('shows of a command what --help does, and every error and exit number', async () => {
    for (const words of [[], ['batch'], ['batch', 'init'], ['keys', 'create']]) {
      const { exit, stdout } = await testCli(READER).run('help', ...words);
      expect([exit, stdout]).toEqual([0, (await testCli(READER).run(...words, '--help')).stdout]);
      expect(stdout).toContain(`Usage: ${['flywheel', ...words].join(' ')}`);
    }
    const { stdout: ofArgument } = await testCli(READER).run('help', 'pending', 'resume');
    expect(ofArgument).toContain('Usage: flywheel pending');
    expect((await testCli().run()).stdout).toContain('Usage: flywheel');
    const { stdout } = await testCli().run('help', 'exit-codes');
    for (const [code, { exit }] of Object.entries(ERRORS))
      expect(stdout).toMatch(new RegExp(`^${code} +${exit} `, 'm'));
    for (const { code, meaning } of EXIT_CODES)
      expect(stdout).toContain(`\n${String(code).padEnd(5)}${meaning}\n`);
  });

  it('has output and an example on the page of every command', async () => {
    const pages = await helpPages('0.0.0', 80);
    expect(pages.length).toBeGreaterThan(50);
    for (const { command, text } of pages.filter((page) => page.text.includes('Examples:'))) {
      expect(text, command).toMatch(/\nOutput:\n {2}\S/);
      expect(text, command).toMatch(/\nExamples:\n {2}\$ \S/);
    }
  });

  it('has examples that the command line takes', async () => {
    const pages = await helpPages('0.0.0', 80);
    const examples = new Set(pages.flatMap(({ text }) => text.match(/(?<=^ {2}\$ flywheel ).*$/gm) ?? []));
    expect(examples.size).toBeGreaterThan(50);
    for (const example of examples) {
      // Quotes and redirections are for the shell.
      const [typed = ''] = example.split(/ [<>|] /);
      const words = Array.from(
        typed.matchAll(/(['"])(.*?)\1|(\S+)/g),
        ([, , quoted, bare]) => quoted ?? bare ?? '',
      );
      const paths: string[] = [];
      const execute = async ({ path }: { path: string }) => void paths.push(path);
      await runProgram({ version: '0.0.0', width: 80, write: () => undefined, execute }, words).catch(
        (error: Error) => expect.unreachable(`${example}: ${error.message}`),
      );
      expect([example, paths.length]).toEqual([example, 1]);
    }
  });

  it.each([
    ['brun', 'burn'],
    ['keys lst', 'list'],
    ['burn --tpye T', '--type'],
    ['help batch nothing', 'init'],
    ['batch approve', 'See `flywheel batch approve --help`.'],
    ['help brun', 'burn, '],
  ])('names for `%s` what was meant', async (line, meant) => {
    const { hint } = complaint((await testCli().run(...line.split(' '))).stderr);
    expect(hint).toContain(meant);
    // Shell syntax.
    expect(hint).not.toContain('__complete');
  });
});

describe('an error', () => {
  it.each([
    ['burn --api-kye=sk_secret', '--api-kye'],
    ['burn --api-kye sk_secret', '--api-kye'],
    ['batch run p.json sk_secret', 'rguments'],
    ['https://sk_secret@api.example', '***'],
    ['batch exec sk_secret', 'exec'],
  ])('does not repeat what may be a secret: %s', async (line, named) => {
    const { exit, stdout, stderr } = await testCli().run(...line.split(' '));
    expect([exit, stdout, stderr]).toEqual([2, '', expect.stringContaining(named)]);
    expect(stderr).not.toContain('sk_secret');
  });

  it('names commands that work where this one has worked, as they stand', async () => {
    const fail =
      (...of: ConstructorParameters<typeof FlywheelError>) =>
      (): never => {
        throw new FlywheelError(...of);
      };
    const wipe = { hint: 'Wipe it: `flywheel local reset --yes`; `flywheel help files` says what it holds.' };
    const openers = localWith({ vault: fail('ERR_STORE_UNAVAILABLE', 'It is another.', wipe) });
    const local = async (...words: string[]) =>
      complaint((await testCli({ openers }).run('vault', ...words)).stderr).hint;
    expect(await local()).toBe(wipe.hint);
    expect(await local('--data-dir', '/a b')).toBe(
      "Wipe it: `flywheel local reset --yes --local --data-dir '/a b'`; `flywheel help files` says what it holds.",
    );
    const service = fakeService();
    const remote = async (code: 'ERR_APPROVAL_EXPIRED' | 'ERR_STORE_BEHIND') => {
      service.answer('currentBatch', fail(code, 'No.'));
      const cli = testCli({ service });
      return complaint((await cli.run('batch', 'current', '--api-url', 'http://127.0.0.1:1')).stderr).hint;
    };
    expect(await remote('ERR_APPROVAL_EXPIRED')).toContain(
      '`flywheel batch approve --api-url http://127.0.0.1:1`',
    );
    // Advice for the operator of the service.
    expect(await remote('ERR_STORE_BEHIND')).toContain('`flywheel db accept-gap`');
  });

  it('that is over after a while says until when for people, after how long for programs', async () => {
    const limited = (options = {}) => {
      const service = fakeService();
      service.answer('currentBatch', () => {
        throw new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'Over the limit.', { retryAfterSeconds: 11.2 });
      });
      return testCli({ ...options, service }).run('batch', 'current');
    };
    for (const who of [READER, person()])
      expect((await limited(who)).stderr).toMatch(/12 s.*2026-01-31T12:00:12/);
    expect(complaint((await limited()).stderr)).toMatchObject({ retryAfterSeconds: 11.2 });
  });
});

describe('a command line that is kept', () => {
  it('has no key in it, and is otherwise as it was typed', () => {
    const secret = [
      ...['burn', '--rpc-url', 'https://user:secret@rpc.example/', '--rpc-url=https://rpc.example/secret'],
      ...['--rpc-url', 'HTTPS://rpc.example?api-key=secret'],
      ...['--operator-signer', 'node sign.mjs --token=secret', '--burn-signer=./sign secret'],
    ];
    expect(shownWords(secret)).toEqual([
      ...['burn', '--rpc-url', 'https://rpc.example/***', '--rpc-url=https://rpc.example/***'],
      ...['--rpc-url', 'https://rpc.example/***'],
      ...['--operator-signer', 'node ***', '--burn-signer=./sign ***'],
    ]);
    expect(shownWords(['--api-url', 'https://u:secret@api.example/v2/pay?key=secret'])).toEqual([
      ...['--api-url', 'https://api.example/v2/pay'],
    ]);
    expect(shownWords(['--api-url=https://api.example/v2'])).toEqual(['--api-url=https://api.example/v2']);
    const plain = [
      ...['burn', '--rpc-url', 'http://127.0.0.1:8899', '--rpc-url', 'devnet', '--operator-signer', './sign'],
      ...['--proof', '{"at":"https://shop.example/order/1"}', '--amount', '1'],
    ];
    expect(shownWords(plain)).toEqual(plain);
  });
});
