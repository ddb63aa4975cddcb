/** The journal of operations: identity, take-over by other processes, durability and cleanup. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Begun, Element, Entry, Journal, OperationRequest } from '../../../src/cli/journal/journal.js';
import { openSqliteJournal } from '../../../src/cli/journal/sqlite-journal.js';
import { JOURNAL_FILE } from '../../../src/files/directories.js';
import { type Sha256, sha256 } from '../../../src/values/digest.js';
import { randomIds } from '../../../src/values/ids.js';
import { emptyDirectory } from '../../support/spawn.js';

const TARGET = { address: 'https://api.example.com', flywheel: null };
/** Each name is an element; the part before a `/` is its subject. */
const elements = (...names: string[]): readonly Element[] =>
  names.map((name) => {
    const digest = sha256(name);
    return { digest, content: digest, subject: sha256(name.split('/')[0] ?? ''), kinds: 1 };
  });
const digests = (...names: string[]): readonly Sha256[] => names.map((name) => sha256(name));

const request = (more: Partial<OperationRequest> = {}): OperationRequest => ({
  ...{ kind: 'burn-batch', content: sha256('a file'), origin: { from: 'content' } },
  ...{ body: () => '{"burns":[]}', notes: () => ({}), command: ['burn-batch', 'burns.json'] },
  ...{ elements: [], taken: null, again: false, allowChanged: false, ...more },
});

/** Processes that start and end as the test says. */
class World {
  readonly directory: string;
  readonly #open: Journal[] = [];
  nowMs = Date.parse('2026-01-31T12:00:00.000Z');

  constructor(directory = emptyDirectory()) {
    this.directory = directory;
  }

  async process(
    name: string,
    target: { address: string; flywheel: string | null } = TARGET,
  ): Promise<Journal> {
    const journal = await openSqliteJournal({
      ...{ directory: this.directory, target, ids: randomIds, clock: { nowMs: () => this.nowMs } },
      self: name,
    });
    this.#open.push(journal);
    return journal;
  }

  close(): void {
    for (const journal of this.#open) journal.close();
  }
}

function taken(begun: Begun | undefined): Entry {
  if (begun?.status === 'taken') return begun.entry;
  return expect.unreachable(`It is ${begun?.status}.`);
}

describe('the journal', () => {
  const world = (directory?: string): World => {
    const made = new World(directory);
    onTestFinished(() => made.close());
    return made;
  };

  it('derives one key from one content and one place, for ever', async () => {
    const [here, elsewhere] = [world(), world()];
    const first = taken((await here.process('p')).begin(request()));
    expect(first).toMatchObject({ isNew: true, state: 'open' });
    const other = taken((await elsewhere.process('q')).begin(request()));
    expect(other.key).toBe(first.key);
    const away = { ...TARGET, address: 'https://b' };
    expect(taken((await elsewhere.process('q', away)).begin(request())).key).not.toBe(first.key);
  });

  it('takes two names of one flywheel for one place, and two flywheels at one address for two', async () => {
    const w = world();
    const at = (address: string, flywheel: string | null) => w.process('p', { address, flywheel });
    const first = taken((await at('https://a', 'f')).begin(request()));
    first.settle({ state: 'done', landed: [] });
    for (const same of [await at('https://b', 'f'), await at('https://a', null)])
      expect(taken(same.begin(request())).id).toBe(first.id);
    expect(taken((await at('https://a', 'g')).begin(request())).isNew).toBe(true);
  });

  it('makes no new burn while another process may still do the same', async () => {
    const w = world();
    const burn = request({ kind: 'burn', origin: { from: 'chance' }, elements: elements('a') });
    const [first, other] = [taken((await w.process('p')).begin(burn)), await w.process('q')];
    for (const same of [burn, { ...burn, content: sha256('of another amount') }])
      expect(other.begin(same)).toMatchObject({ status: 'busy', process: 'p' });
    first.settle({ state: 'done', landed: [] });
    first.markPrinted();
    const second = taken(other.begin(burn));
    expect(second.isNew).toBe(true);
    second.settle({ state: 'done', landed: [] });
    w.nowMs += 16_000;
    taken((await w.process('r')).begin(burn)).markPrinted();
    expect(() => second.markPrinted()).toThrow(expect.objectContaining({ code: 'ERR_OUTCOME_UNKNOWN' }));
  });

  it('lets the process that did an operation print it after a repeat has', async () => {
    const w = world();
    const first = taken((await w.process('p')).begin(request()));
    first.settle({ state: 'done', landed: [] });
    taken((await w.process('q')).begin(request())).markPrinted();
    expect(() => first.markPrinted()).not.toThrow();
  });

  it('keeps nobody waiting, and dates nothing anew, when a repeat prints what another process did', async () => {
    const w = world();
    const first = taken((await w.process('p')).begin(request()));
    first.settle({ state: 'partial', landed: [] });
    const { dateChanged } = first;
    w.nowMs += 16_000;
    const repeat = taken((await w.process('q')).begin(request()));
    repeat.markPrinted();
    expect(repeat.dateChanged).toBe(dateChanged);
    expect(repeat.reopen(elements('a'), {})).toBe(true);
  });

  it('makes no new burn while somebody goes on with one that was left', async () => {
    const w = world();
    const burn = request({ kind: 'burn', origin: { from: 'chance' } });
    const left = taken((await w.process('p')).begin(burn));
    w.nowMs += 16_000;
    const [resuming, other] = [await w.process('q'), await w.process('r')];
    expect(resuming.take(left.id)?.status).toBe('taken');
    expect(() => other.begin(burn)).toThrow('process q');
    w.nowMs += 16_000;
    expect(taken(other.begin(burn)).id).toBe(left.id);
  });

  it('knows a key that was given, and refuses it for something else', async () => {
    const journal = await world().process('p');
    const given = request({ origin: { from: 'user', key: 'order-1' } });
    const first = taken(journal.begin(given));
    expect(taken(journal.begin(given))).toMatchObject({ key: 'order-1', isNew: false });
    expect(() => journal.begin({ ...given, content: sha256('else') })).toThrow(first.dateBegun);
    // A derived key from an error message is the same operation when it is passed.
    const derived = taken(journal.begin(request({ content: sha256('b') })));
    const typed = request({ content: sha256('b'), origin: { from: 'user', key: derived.key } });
    expect(taken(journal.begin(typed)).id).toBe(derived.id);
  });

  it('lets no operation take elements of another by mistake', async () => {
    const w = world();
    const journal = await w.process('p');
    const first = taken(journal.begin(request({ elements: elements('a', 'b', 'c') })));
    const other = request({ content: sha256('changed'), elements: elements('b', 'c', 'd') });
    expect(journal.begin(other)).toMatchObject({
      status: 'refused',
      overlaps: ['b', 'c'].map(() => ({ hasLanded: false, operation: { id: first.id, state: 'open' } })),
    });
    expect(journal.begin({ ...other, again: true }).status).toBe('refused');
    // Elements that may still land are refused to other operations, until they no longer can.
    first.settle({ state: 'partial', landed: digests('b'), mayLand: true });
    expect(journal.begin({ ...other, elements: elements('c', 'd') })).toMatchObject({
      ...{ status: 'refused', overlaps: [{ digest: digests('c')[0], hasLanded: false }] },
    });
    first.settle({ state: 'partial', landed: digests('b') });
    expect(journal.begin(other)).toMatchObject({
      status: 'refused',
      overlaps: [{ digest: digests('b')[0], hasLanded: true, operation: { state: 'partial' } }],
    });
    expect(taken(journal.begin({ ...other, elements: elements('c', 'd') })).isNew).toBe(true);
    const more = request({ content: sha256('more'), elements: elements('b') });
    expect(journal.begin(more).status).toBe('refused');
    expect(journal.begin({ ...more, again: true }).status).toBe('refused');
    first.markPrinted();
    expect(journal.begin({ ...more, again: true }).status).toBe('taken');
  });

  it('tells what has landed with another amount from what is only alike', async () => {
    const journal = await world().process('p');
    const first = taken(journal.begin(request({ elements: elements('a/3', 'b/1') })));
    first.settle({ state: 'done', landed: digests('a/3', 'b/1') });
    const changed = request({ content: sha256('changed'), elements: elements('c/1', 'a/4') });
    expect(journal.begin(changed)).toMatchObject({ status: 'refused', changes: [{ index: 1 }] });
    expect(journal.begin({ ...changed, taken: [0] }).status).toBe('taken');
    // Landed elements are still in the file; another operation on the same subject is permitted.
    const more = request({ content: sha256('more'), elements: elements('a/3', 'a/4'), taken: [1] });
    const second = taken(journal.begin(more));
    const other = request({ content: sha256('all'), elements: elements('a/5'), allowChanged: true });
    // An element that may still land is no landed one, whatever its amount.
    expect(journal.begin(other)).toMatchObject({ status: 'refused', overlaps: [{ hasLanded: false }] });
    second.settle({ state: 'done', landed: digests('a/4') });
    expect(journal.begin(other).status).toBe('taken');
  });

  it('takes up no rest of which another operation has an element', async () => {
    const journal = await world().process('p');
    const first = taken(journal.begin(request({ elements: elements('a', 'b') })));
    first.settle({ state: 'partial', landed: digests('a') });
    first.markPrinted();
    const other = taken(journal.begin(request({ content: sha256('other'), elements: elements('b') })));
    for (const hasLanded of [false, true]) {
      if (hasLanded) other.settle({ state: 'done', landed: digests('b') });
      expect(first.elsewhere(elements('a', 'b'))).toMatchObject([{ digest: sha256('b'), hasLanded }]);
      expect(first.reopen(elements('b'), {})).toBe(false);
    }
    expect(first.state).toBe('partial');
  });

  it('gives the next step of an operation to one of two', async () => {
    const w = world();
    const first = taken((await w.process('p')).begin(request()));
    first.settle({ state: 'partial', landed: [] });
    first.markPrinted();
    const [one, two] = [
      taken((await w.process('q')).begin(request())),
      taken((await w.process('r')).begin(request())),
    ];
    expect([one.reopen(elements('a'), { step: 1 }), two.reopen(elements('a'), {})]).toEqual([true, false]);
    expect(one.notes).toMatchObject({ step: 1 });
    expect((await w.process('s')).begin(request())).toMatchObject({ status: 'busy', process: 'q' });
  });

  it('waits for no lease from before the clock was set back', async () => {
    const w = world();
    const { id } = taken((await w.process('p')).begin(request()));
    const other = await w.process('q');
    expect(other.begin(request()).status).toBe('busy');
    w.nowMs -= 3_600_000;
    expect(taken(other.begin(request())).id).toBe(id);
  });

  it('takes no note from a process that stood still until somebody else took over', async () => {
    const w = world();
    const [still, other] = [await w.process('still'), await w.process('other')];
    const late = taken(still.begin(request()));
    expect(other.begin(request())).toMatchObject({ status: 'busy', process: 'still' });
    w.nowMs += 16_000;
    const next = taken(other.begin(request()));
    const refused = expect.objectContaining({ code: 'ERR_OUTCOME_UNKNOWN' });
    expect(() => late.note({ stage: 2 })).toThrow(refused);
    expect(() => late.keep('answer', {})).toThrow(refused);
    expect(() => late.settle({ state: 'partial', landed: [] })).toThrow(refused);
    expect(() => late.release()).toThrow(refused);
    late.remove();
    next.settle({ state: 'done', landed: [] });
    next.markPrinted();
    expect(() => late.markPrinted()).toThrow(refused);
    expect(taken(other.begin(request()))).toMatchObject({ id: next.id, state: 'done', notes: {} });
  });

  it('is a file for the user alone, and no other file', async () => {
    const { directory } = world();
    await world(join(directory, 'config')).process('p');
    expect(statSync(join(directory, 'config')).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'config', JOURNAL_FILE)).mode & 0o777).toBe(0o600);
    writeFileSync(join(directory, JOURNAL_FILE), 'something else entirely, of more than a page'.repeat(200));
    await expect(world(directory).process('p')).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
  });
});
