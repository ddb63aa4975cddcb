/** What the exit of a command promises about the chain. */
import { type Auditor, Broken } from './auditor.js';
import type { Item } from '../goods.js';
import type { Ended } from '../machine.js';

export interface CommandCheck {
  readonly process: string;
  readonly words: readonly string[];
  readonly items: readonly Item[];
  /** Nothing of its file was ever left out. */
  readonly isWhole: boolean;
}

/** Exits that say that nothing of the command was done: wrong words, not allowed, refused. */
const NOTHING: ReadonlySet<number | null> = new Set([2, 4, 5]);

/** @param mark - how many landings there were when the command began. @throws Broken */
export function checkEnded(
  auditor: Auditor,
  { process, words, items, isWhole }: CommandCheck,
  { exit, stderr }: Ended,
  mark: number,
): void {
  auditor.checkBatches();
  const own = auditor.landings.slice(mark).filter(({ by }) => by === process);
  const line = words.join(' ');
  // Of several operations the first that failed gives the exit.
  const isOne = line !== 'pending resume' && line !== 'pending resume --yes';
  // Of an operation that is left open the exit tells only how its last step ended.
  const isLeft = stderr.includes('This resumes safely');
  if (isOne && !isLeft && NOTHING.has(exit) && own.length > 0) {
    const names = own.map(({ item }) => item.name).join(', ');
    throw new Broken('nothing done', `exit ${exit} of \`${line}\`, which has landed ${names}`);
  }
  const meansAll = exit === 0 && words[1] !== 'init' && isWhole;
  const missing = meansAll ? items.filter((item) => auditor.count(item) === 0) : [];
  // The rest of a file may be nothing but what failed.
  if (missing.length > 0)
    throw new Broken(
      'done',
      `exit 0 of \`${line}\`, and ${missing.map(({ name }) => name).join(', ')} never landed`,
    );
}
