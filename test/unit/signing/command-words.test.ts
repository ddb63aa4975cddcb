/** Splits the command of a signing program into words, without a shell. */
import { describe, expect, it } from 'vitest';
import { commandWords } from '../../../src/signing/program-signer.js';

const words = (command: string) => commandWords(command, '--operator-signer');

describe('commandWords', () => {
  it('parts words by spaces and tabs', () => {
    expect(words('  /opt/sign \t--key  a=b ')).toEqual(['/opt/sign', '--key', 'a=b']);
  });

  it('takes what is in quotes as it stands', () => {
    expect(words(`sign 'two words; $HOME' "it's" a"b c"d ''`)).toEqual([
      'sign',
      'two words; $HOME',
      "it's",
      'ab cd',
      '',
    ]);
  });

  it('takes a backslash as it stands', () => {
    expect(words('C:\\sign.exe "a\\"')).toEqual(['C:\\sign.exe', 'a\\']);
  });

  it.each([
    'sign | tee log',
    'sign; rm x',
    'sign $KEY',
    'sign `id`',
    'sign > out',
    'a & b',
    'sign *',
    '~/sign',
  ])('refuses what only a shell would understand: %s', (command) => {
    expect(() => words(command)).toThrow('--operator-signer is not a valid command');
  });

  it.each(['', '  ', "''", `sign 'x`])('refuses what names no program: %j', (command) => {
    expect(() => words(command)).toThrow('--operator-signer is not a valid command');
  });

  it('repeats nothing of what was given', () => {
    expect(() => words('sign --token=hunter2 |x')).not.toThrow('hunter2');
  });
});
