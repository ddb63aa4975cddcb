/** The user's own editor, on the terminal of this process. */
import { spawn } from 'node:child_process';

/**
 * Runs a command of the user's with a file as its last word, as a shell would, and waits for its end.
 * @returns its exit number, `null` where it was not started or was ended by a signal.
 */
export function runEditor(command: string, file: string): Promise<number | null> {
  const isWindows = process.platform === 'win32';
  const [shell, words] = isWindows
    ? ['cmd.exe', ['/d', '/s', '/c', `${command} "${file}"`]]
    : ['/bin/sh', ['-c', `${command} "$1"`, 'sh', file]];
  return new Promise((resolve) => {
    const editor = spawn(shell, words, { stdio: 'inherit', windowsVerbatimArguments: isWindows });
    editor.once('error', () => resolve(null));
    editor.once('exit', (code) => resolve(code));
  });
}
