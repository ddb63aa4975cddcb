/** What the exit of a command promises about the chain. */
import type { Item } from '../goods.js';
import { DOOR_WORDS } from '../network.js';
import type { Ended } from '../workplace.js';
import { type Auditor, Broken } from './auditor.js';

export interface CommandCheck {
  readonly process: string;
  readonly words: readonly string[];
  readonly items: readonly Item[];
  /** Items that it alone speaks for, and whose outcome nobody had seen when it began. */
  readonly unseen: readonly Item[];
  /** Nothing of its file was ever left out. */
  readonly isWhole: boolean;
}

/** Exits that say that nothing of the command was done: wrong words, not allowed, refused. */
const NOTHING: ReadonlySet<number | null> = new Set([2, 4, 5]);

/** What no service says of itself, whatever befalls it. */
const INTERNAL = /ERR_(?:INTERNAL|BATCH_(?:CURRENT|INIT|EXECUTE)_FAILED)/;

/** @param mark - how many landings there were when the command began. @throws Broken */
export function checkEnded(
  auditor: Auditor,
  { process, words, items, unseen, isWhole }: CommandCheck,
  { exit, stderr }: Ended,
  mark: number,
): void {
  auditor.checkBatches();
  if (INTERNAL.test(stderr) && !stderr.includes(DOOR_WORDS))
    throw new Broken('internal error', `\`${words.join(' ')}\` ends ${exit}: ${stderr}`);
  const own = auditor.landings.slice(mark).filter(({ by }) => by === process);
  const line = words.join(' ');
  // Of several operations the first that failed gives the exit.
  const isOne = line !== 'pending resume' && line !== 'pending resume --yes';
  // Of an operation that is left open the exit tells only how its last step ended.
  const isLeft = stderr.includes('Resume it');
  if (isOne && !isLeft && NOTHING.has(exit) && own.length > 0) {
    const names = own.map(({ item }) => item.name).join(', ');
    throw new Broken('nothing done', `exit ${exit} of \`${line}\`, which has landed ${names}`);
  }
  // Words that are wrong by now may be told while somebody else is just going on with it.
  if (!isLeft && NOTHING.has(exit) && exit !== 2) checkRefused(auditor, line, unseen);
  const meansAll = exit === 0 && words[1] !== 'init' && isWhole;
  const missing = meansAll ? items.filter((item) => auditor.count(item) === 0) : [];
  // The rest of a file may be nothing but what failed.
  if (missing.length > 0)
    throw new Broken(
      'done',
      `exit 0 of \`${line}\`, and ${missing.map(({ name }) => name).join(', ')} never landed`,
    );
}

/** What has landed and nobody has seen stays open, whatever a later try is told. @throws Broken */
function checkRefused(auditor: Auditor, line: string, unseen: readonly Item[]): void {
  const landed = unseen.filter((item) => auditor.count(item) > 0).map(({ name }) => name);
  if (landed.length > 0)
    throw new Broken(
      'left open',
      `\`${line}\` is refused for good, and ${landed.join(', ')} has landed before`,
    );
}
