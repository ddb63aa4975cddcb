/** The command line that carries on with a request, as one can paste it into a shell. */

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** A word as a POSIX shell reads it back. */
export const shellWord = (word: string): string =>
  PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** A command line that can be pasted. */
export const shellLine = (words: readonly string[]): string => words.map(shellWord).join(' ');

/** The same command with the idempotency key in it. */
export function resumeCommand(words: readonly string[], key: string): string {
  const given = words.some((word) => word === '--idempotency-key' || word.startsWith('--idempotency-key='));
  return shellLine(['flywheel', ...words, ...(given ? [] : ['--idempotency-key', key])]);
}
