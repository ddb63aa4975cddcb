/** Brings a world to rest after the last fault, and checks that everything completes. */
import { Broken } from './audit/auditor.js';
import type { Ended } from './command-line.js';
import type { Item, Paper } from './goods.js';
import { type Office, Person } from './person.js';
import type { Scheduler } from './scheduler.js';

const ROUNDS = 10;
/** Rounds until a stuck batch is cancelled. */
const PATIENCE = 3;
const DAY_MS = 86_400_000;
/** Longer than every rate limit window, unless a clock was set back. */
const PAUSE_MS = 11_000;

/** Exits that must not occur without faults: killed, internal error, unsafe, interrupted. */
const ALARMING: ReadonlySet<number | null> = new Set([null, 1, 4, 9, 130]);

/** Approvals of the wrong file, typed during the faults, whose batch is finished: refused for good, and reported once. */
const REFUSED_FOR_GOOD = /Batch \S+ is finished and is not the expected one/g;

const DROP = /Drop this operation: `flywheel pending forget ([0-9a-f]{8})/g;

/** @throws Broken */
export async function bringToRest(office: Office): Promise<void> {
  const { machine, scheduler } = office;
  scheduler.calm();
  const person = new Person('closer', office);
  const { goods, auditor } = office;
  const refused = new Set<string>();
  const isAlarming = (exit: number | null, stderr: string): boolean => {
    const refusals = new Set(stderr.match(REFUSED_FOR_GOOD) ?? []);
    const isRepeated = [...refusals].some((one) => refused.has(one));
    for (const one of refusals) refused.add(one);
    return ALARMING.has(exit) && (exit !== 9 || refusals.size === 0 || isRepeated);
  };
  const type: Type = async (words, items = []) => {
    scheduler.jump(PAUSE_MS);
    const ended = await person.type({ words, items }, false);
    const { exit, stderr } = ended;
    if (isAlarming(exit, stderr)) throw new Broken('calm', `\`${words.join(' ')}\` ends ${exit}: ${stderr}`);
    return ended;
  };
  await type(['local', 'fund', '--to', 'vault', '--tokens', '5000', '--local']);
  const open = (): readonly Paper[] =>
    goods.papers.filter(({ items }) => items.some((item) => auditor.count(item) === 0));
  for (let round = 0; round < ROUNDS; round += 1) {
    await scheduler.reach(person, `round ${round}`);
    await type(['pending', 'resume', '--yes']);
    for (const paper of round === 0 ? goods.papers : open()) await finish(type, paper);
    if (open().length === 0) break;
    // A stuck batch is cancelled, and its file runs again.
    if (round === PATIENCE) await endBatches(type, office, false);
    // Caps reset each day.
    scheduler.jump(DAY_MS);
  }
  const missing = open().flatMap(({ items }) => items.filter((item) => auditor.count(item) === 0));
  if (missing.length > 0) throw new Broken('liveness', `${names(missing)} never landed`);
  await endBatches(type, office, true);
  await settleRest(type, person, scheduler);
  // Discarded operations are not repeated; a starting server resolves them.
  await machine.serve();
  auditor.checkClean();
}

type Type = (words: readonly string[], items?: readonly Item[]) => Promise<Ended>;

async function finish(type: Type, { name, kind, items }: Paper): Promise<void> {
  const command =
    kind === 'burns' ? ['burn-batch', name] : ['batch', 'run', name, '--keypair', 'owner.json', '--yes'];
  if ((await type(command, items)).exit === 0) return;
  // A file whose batch was cancelled is refused with both options.
  if ((await type([...command, '--rest'], items)).exit === 2) await type([...command, '--again'], items);
}

/** Cancels waiting and failed batches, and closes the accounts of finished ones. */
async function endBatches(type: Type, { auditor }: Office, isLast: boolean): Promise<void> {
  for (const { id, isOver } of auditor.batches()) {
    if (isOver) continue;
    const { exit } = await type(['batch', 'cancel', id, '--keypair', 'owner.json', '--yes']);
    if (exit !== 0 && isLast) throw new Broken('end of a batch', `cancelling ${id} ends ${exit}`);
  }
}

/** Resolves everything pending, and expects that nothing is left. */
async function settleRest(type: Type, person: Person, scheduler: Scheduler): Promise<void> {
  let left = '';
  for (let day = 0; day < ROUNDS; day += 1) {
    const { stderr } = await type(['pending', 'resume', '--yes']);
    // A burn whose key the service no longer keeps cannot be told from an equal one.
    for (const [, id = ''] of stderr.matchAll(DROP)) await type(['pending', 'forget', id, '--yes']);
    const { stdout } = await person.type({ words: ['pending', '--json'] }, false);
    const rows = JSON.parse(stdout) as readonly { readonly outcome: string }[];
    left = JSON.stringify(rows.filter(({ outcome }) => outcome !== 'waits for approval'));
    if (left === '[]') return;
    scheduler.jump(DAY_MS);
  }
  throw new Broken('pending', left);
}

const names = (items: readonly Item[]): string => items.map(({ name }) => name).join(', ');
