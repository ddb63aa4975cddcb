/**
 * Expected: a journal that is lost or older than the service, and a service that is older than the journal, are noticed: no element
 * that has landed is sent again without a word, and nothing is told as burned that is on no ledger.
 * Today `--only-new` and an edited file burn elements again silently, and a file whose burns a restored ledger does not hold is told
 * as done, with transaction ids that are on no ledger.
 *
 * Run by hand from the root: `node test/conformance/run-typescript.mjs test/scenes/journal-older-than-service.ts`.
 */
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aPlace, burnedIn, expectSeen, type Place } from './scene.js';

const element = (index: number) => ({
  ...{ type: 'WATCH_AD', proof: { index }, burnAmount: 1, persistOnchain: false },
});
const elements = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => element(from + index));

const JOURNAL = /^journal\.db/;
const SERVICE = /^(?:store|ledger)\.db/;

const write = ({ home }: Place, name: string, content: unknown): string => {
  writeFileSync(join(home, name), JSON.stringify(content));
  return name;
};

/** Copies files of a data directory aside; with no copy they are only removed. */
function keep({ dataDir, home }: Place, files: RegExp, name: string): void {
  for (const file of readdirSync(dataDir))
    if (files.test(file)) cpSync(join(dataDir, file), join(home, name, file));
}
function restore({ dataDir, home }: Place, files: RegExp, name: string | null): void {
  for (const file of readdirSync(dataDir)) if (files.test(file)) rmSync(join(dataDir, file));
  if (name !== null && existsSync(join(home, name))) cpSync(join(home, name), dataDir, { recursive: true });
}

/** Burns three elements, then five more, with the journal kept after each; then goes on with another journal. */
async function withJournal(name: 'none' | 's1' | 's2', how: '--only-new' | 'edited file'): Promise<void> {
  const place = await aPlace();
  await place.json('burn-batch', write(place, 'a.json', elements(0, 3)));
  keep(place, JOURNAL, 's1');
  await place.json('burn-batch', write(place, 'b.json', elements(3, 8)));
  keep(place, JOURNAL, 's2');
  await place.json('burn-batch', write(place, 'c.json', elements(8, 9)));
  restore(place, JOURNAL, name === 'none' ? null : name);
  const before = await burnedIn(place);
  const file = write(place, 'd.json', elements(0, 10));
  const { exit, stderr } = await place.run(
    'burn-batch',
    file,
    ...(how === 'edited file' ? [] : [how]),
    '--json',
  );
  const again = (await burnedIn(place)) - before - (exit === 0 ? 1 : 0);
  const isNoticed = exit !== 0 && again <= 0;
  expectSeen(
    `journal ${name}, ${how}: elements that burned once more`,
    { exit, again, stderr: stderr.slice(0, 200) },
    isNoticed || again === 0,
  );
}

/** Store and ledger go back to before a file was burned; the journal does not. */
async function withNewerJournal(): Promise<void> {
  const place = await aPlace();
  await place.json('burn-batch', write(place, 'a.json', elements(0, 1)));
  keep(place, SERVICE, 'before');
  await place.json('burn-batch', write(place, 'b.json', elements(1, 4)));
  restore(place, SERVICE, 'before');
  const { exit, stdout } = await place.run('burn-batch', 'b.json', '--json');
  const burned = await burnedIn(place);
  const told = exit === 0 ? (JSON.parse(stdout) as { success: unknown[] }).success.length : 0;
  expectSeen(
    'store and ledger older than the journal: burns told and on the ledger',
    { exit, told, burned },
    exit !== 0 || burned === 4,
  );
}

for (const how of ['--only-new', 'edited file'] as const)
  for (const name of ['none', 's1', 's2'] as const) await withJournal(name, how);
await withNewerJournal();
