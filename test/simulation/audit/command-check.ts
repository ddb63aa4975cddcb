/** Checks a command's exit code against the chain. */
import type { Ended } from '../command-line.js';
import type { Item } from '../goods.js';
import { DOOR_WORDS } from '../network.js';
import { type Auditor, Broken } from './auditor.js';

export interface CommandCheck {
  readonly process: string;
  readonly words: readonly string[];
  readonly items: readonly Item[];
  /** Items that only this command reports, with no reported outcome when it ended. */
  readonly unseen: readonly Item[];
  /** No part of its file was left out. */
  readonly isWhole: boolean;
}

/** Exits that promise that nothing was done: usage, not allowed, refused. */
const NOTHING: ReadonlySet<number | null> = new Set([2, 4, 5]);

/** Internal errors, which a service must never return in any world. */
const INTERNAL = /ERR_(?:INTERNAL|BATCH_(?:CURRENT|INIT|EXECUTE)_FAILED)/;

/** @param mark - number of landings when the command began. @throws Broken */
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
  // The first failed operation of several decides the exit code.
  const isOne = line !== 'pending resume' && line !== 'pending resume --yes';
  // The exit code of an operation that stays open describes its last step only.
  const isLeft = stderr.includes('Resume it');
  if (isOne && !isLeft && NOTHING.has(exit) && own.length > 0) {
    const names = own.map(({ item }) => item.name).join(', ');
    throw new Broken('nothing done', `exit ${exit} of \`${line}\`, which has landed ${names}`);
  }
  // Exit 2 may be correct for a command that another process is just resuming.
  if (!isLeft && NOTHING.has(exit) && exit !== 2) checkRefused(auditor, line, unseen);
  const meansAll = exit === 0 && words[1] !== 'init' && isWhole;
  const missing = meansAll ? items.filter((item) => auditor.count(item) === 0) : [];
  // The rest of a file may consist of failed items only.
  if (missing.length > 0)
    throw new Broken(
      'done',
      `exit 0 of \`${line}\`, and ${missing.map(({ name }) => name).join(', ')} never landed`,
    );
}

/** An item that landed without a reported outcome stays open, whatever a later attempt reports. @throws Broken */
function checkRefused(auditor: Auditor, line: string, unseen: readonly Item[]): void {
  const landed = unseen.filter((item) => auditor.count(item) > 0).map(({ name }) => name);
  if (landed.length > 0)
    throw new Broken(
      'left open',
      `\`${line}\` is refused for good, and ${landed.join(', ')} has landed before`,
    );
}
