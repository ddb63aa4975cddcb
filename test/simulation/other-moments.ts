/**
 * One of the two files of a flywheel is taken from an older copy, as a restored backup or a synchronised folder does it: whoever
 * works with such a pair has to be refused, because the one file knows nothing of what the other holds.
 */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../fuzz/random.js';
import { Broken } from './audit/auditor.js';
import { FILES } from './audit/tables.js';
import { type Office, Person } from './person.js';

/** A database in the middle of its life is these together. */
const PARTS = ['', '-wal', '-shm'] as const;

/** Where the files are, and where those of the beginning are. */
export interface Moments {
  readonly today: string;
  readonly beginning: string;
}

/** Puts one file of the beginning in place of today's, has somebody try to work, and puts today's back. @throws Broken */
export async function mixMoments(office: Office, moments: Moments, random: Random): Promise<void> {
  const { auditor, goods } = office;
  const mark = auditor.landings.length;
  // Otherwise they fit each other still.
  if (!auditor.haveMovedOn) return;
  const file = random.pick([FILES.store, FILES.ledger]);
  const today = join(moments.today, file);
  const old = join(moments.beginning, file);
  office.say(`  ${file} is as it was in the beginning`);
  for (const part of PARTS) if (existsSync(today + part)) renameSync(today + part, `${today}.kept${part}`);
  for (const part of PARTS) if (existsSync(old + part)) copyFileSync(old + part, today + part);
  const { name, kind } = random.pick(goods.papers);
  const words =
    kind === 'burns' ? ['burn-batch', name] : ['batch', 'run', name, '--keypair', 'owner.json', '--yes'];
  const { exit, stderr } = await new Person('restorer', office).type({ words }, false);
  for (const part of PARTS) rmSync(today + part, { force: true });
  for (const part of PARTS)
    if (existsSync(`${today}.kept${part}`)) renameSync(`${today}.kept${part}`, today + part);
  if (!stderr.includes('older') || auditor.landings.length > mark)
    throw new Broken(
      'one truth',
      `with ${file} of the beginning, \`${words.join(' ')}\` ends ${exit}: ${stderr}`,
    );
}
