/**
 * Replaces one of store and ledger by an older copy, as a restored backup does. Commands must refuse the pair, because one file
 * lacks what the other has.
 */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../fuzz/random.js';
import { Broken } from './audit/auditor.js';
import { FILES } from './audit/tables.js';
import { type Office, Person } from './person.js';

/** Suffixes of the files of an open SQLite database. */
const PARTS = ['', '-wal', '-shm'] as const;

interface Moments {
  readonly today: string;
  readonly beginning: string;
}

/** Puts an initial file in place of the current one, runs commands, and restores the current file. @throws Broken */
export async function mixMoments(office: Office, moments: Moments, random: Random): Promise<void> {
  const { auditor, goods } = office;
  const mark = auditor.landings.length;
  // Before that the two files still match.
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
