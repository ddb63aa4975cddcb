/** The journal in an SQLite file. Every step of an operation is one write transaction, durable before the next begins. */
import { join } from 'node:path';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { JOURNAL_FILE } from '../../files/directories.js';
import { openSqliteFile, type SqliteFile } from '../../files/sqlite-file.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import { type Sha256, sha256 } from '../../values/digest.js';
import { derivedUuid, type Ids } from '../../values/ids.js';
import { pick } from '../operation/elements.js';
import { notSent } from '../operation/verdicts.js';
import { ApprovalRecord } from './approval-record.js';
import {
  type Begun,
  type Element,
  type Entry,
  isAlwaysNew,
  isOver,
  type KeyOrigin,
  type OperationKind,
  type OperationRequest,
  type OperationSummary,
  type Overlap,
} from './journal.js';
import { prepareJournal } from './schema.js';
import { SqliteEntry } from './sqlite-entry.js';
import { digestBytes, Tables } from './tables.js';

type JournalOptions = ConstructorParameters<typeof Tables>[1] & {
  readonly directory: string;
  readonly ids: Pick<Ids, 'uuid'>;
};

/** @throws `ERR_STORE_UNAVAILABLE` with the file and the reason. */
export async function openSqliteJournal(options: JournalOptions): Promise<SqliteJournal> {
  makePrivateDirectory(options.directory, 'ERR_CONFIG_INVALID');
  const file = await openSqliteFile({
    path: join(options.directory, JOURNAL_FILE),
    noun: 'journal',
    create: true,
  });
  try {
    prepareJournal(file);
    return new SqliteJournal(file, options);
  } catch (error) {
    file.close();
    throw error;
  }
}

const PROLONG_EVERY_MS = 5_000;

export class SqliteJournal extends Tables {
  readonly approvals: ApprovalRecord;
  readonly #options: JournalOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(file: SqliteFile, options: JournalOptions) {
    super(file, options);
    this.approvals = new ApprovalRecord(file, options.clock);
    this.#options = options;
    this.#timer = setInterval(() => this.#prolong(), PROLONG_EVERY_MS).unref();
  }

  /** A later attempt, or the next step of the operation, tells of a file that cannot be written. */
  #prolong(): void {
    try {
      this.prolong();
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_STORE_UNAVAILABLE')) throw error;
    }
  }

  /** Starts an operation, or takes the existing one of this request. */
  begin(request: OperationRequest): Begun {
    return this.file.write(() => {
      const known = this.#find(request);
      if (known === undefined) return this.#insert(request);
      if (!request.again) return this.#take(known);
      if (known.kind === 'burn') {
        // It has nothing to cancel first, but a repeat of an earlier command with --again means that one.
        const isSame = known.notes['again'] !== undefined && !(isOver(known.state) && known.printed);
        return isSame ? this.#take(known) : this.#insert(request);
      }
      if (!isOver(known.state) || known.state === 'partial')
        return { status: 'unfinished', entry: this.#entry(known) };
      return this.#insert(request);
    });
  }

  /** Takes an operation by its id, also only to print its outcome; `undefined`: unknown id. */
  take(id: string): Begun | undefined {
    return this.file.write(() => {
      const row = this.row('id = ?', [id]);
      if (row === undefined || !isOver(row.state) || row.printed) return row && this.#take(row);
      // The first process prints the outcome and deletes the body.
      if (row.busy) return busy(row);
      const { self } = this;
      this.change(row.serial, { holder: self });
      return { status: 'taken', entry: this.#entry({ ...row, holder: self }) };
    });
  }

  /** Takes the operation of a batch, if it waits or landed in part and no other process works on it. */
  takeBatch(batchId: string): Entry | undefined {
    return this.file.write(() => {
      const names = `kind = 'batch' AND state IN ('waiting', 'partial') AND instr(notes, ?) > 0`;
      const row = this.row(names, [batchId]);
      const begun = row && this.#take(row);
      return begun?.status === 'taken' ? begun.entry : undefined;
    });
  }

  ofBatch(batchId: string): Entry | undefined {
    return this.file.read(() => {
      const row = this.row(`kind = 'batch' AND instr(notes, ?) > 0`, [batchId]);
      return row && this.#entry(row);
    });
  }

  known(kind: OperationKind, content: Sha256, origin?: KeyOrigin): Entry | undefined {
    return this.file.read(() => {
      const row =
        origin?.from === 'user' ? this.#ofKey(kind, origin.key, content) : this.#latest(kind, content);
      return row && this.#entry(row);
    });
  }

  /** When the batch of this content was cancelled, if no operation of this content started since, under any key. */
  dateCancelled(kind: OperationKind, content: Sha256): string | undefined {
    return this.file.read(() => {
      const of = [kind, digestBytes(content)];
      const latest = this.row('kind = ? AND content = ? ORDER BY serial DESC', of);
      return latest?.state === 'cancelled' ? latest.dateChanged : undefined;
    });
  }

  keyOf(kind: OperationKind, content: Sha256, origin: KeyOrigin): string {
    return origin.from === 'user' ? origin.key : this.#derivedKey(kind, content);
  }

  /** Notes elements that landed by requests which are not in the journal. */
  noteLanded(kind: OperationKind, elements: readonly Element[], date: string): void {
    const key = this.#options.ids.uuid();
    this.file.write(() => {
      const { serial } = this.insert({
        ...{ kind, key, origin: 'elsewhere', content: sha256(key), state: 'done', holder: null },
        ...{ command: [], notes: {}, body: null, date },
      });
      this.claim(serial, elements);
      const digests = elements.map(({ digest }) => digest);
      this.land(serial, digests);
    });
  }

  copyTo(path: string): void {
    this.file.prepare('VACUUM INTO ?').run([path]);
  }

  /** With an unknown or unprinted outcome; oldest first. */
  pending(): readonly OperationSummary[] {
    return this.rows(`(state = 'open' OR told = 0) ORDER BY serial`, []);
  }

  close(): void {
    clearInterval(this.#timer);
    this.file.close();
  }

  #find({ kind, content, origin }: OperationRequest): OperationSummary | undefined {
    if (origin.from === 'chance') return this.#unprinted(kind, content);
    if (origin.from === 'user') return this.#ofKey(kind, origin.key, content);
    return this.#latest(kind, content) ?? this.#ofKey(kind, this.#derivedKey(kind, content), content);
  }

  #ofKey(kind: OperationKind, key: string, content: Sha256): OperationSummary | undefined {
    const row = this.row('kind = ? AND key = ?', [kind, key]);
    if (row === undefined || row.content === content) return row;
    throw new FlywheelError(
      'ERR_IDEMPOTENCY_KEY_REUSED',
      `The idempotency key was used for another request on ${row.dateBegun}. Nothing was sent.`,
    );
  }

  #latest(kind: OperationKind, content: Sha256): OperationSummary | undefined {
    const of = [kind, digestBytes(content)];
    return this.row(`kind = ? AND content = ? AND origin = 'content' ORDER BY serial DESC`, of);
  }

  /** @throws `ERR_INPUT_INVALID` while another process resumes an unprinted one: the command may mean that one, or another. */
  #unprinted(kind: OperationKind, content: Sha256): OperationSummary | undefined {
    const unprinted = `kind = ? AND content = ? AND origin = 'chance' AND (state = 'open' OR told = 0) ORDER BY serial`;
    const rows = this.rows(unprinted, [kind, digestBytes(content)]);
    const free = rows.find(({ busy }) => !busy);
    const resumed = rows.find((row) => row.resumed);
    if (free === undefined && resumed !== undefined) throw beingResumed(resumed);
    return free;
  }

  /** For a burn: another operation with its type and proof, of unknown or unprinted outcome, under any key. */
  #sameBurn({ kind, origin, elements, again }: OperationRequest): OperationSummary | undefined {
    const [element] = elements;
    if (kind !== 'burn' || element === undefined) return undefined;
    const rows = this.rows(
      `serial IN (SELECT operation FROM elements WHERE target = operations.target AND subject = ? AND (landed = 0 OR landed = 1 AND told = 0)) ORDER BY serial`,
      [digestBytes(element.subject)],
    );
    // Without --once two processes may burn the same at the same time.
    const isBeside = (row: OperationSummary): boolean =>
      row.busy && row.origin === 'chance' && origin.from === 'chance';
    const others = rows.filter((row) => !isBeside(row) && !(again && row.kind === 'burn'));
    return others.find((row) => !row.busy) ?? others[0];
  }

  #overlaps(request: OperationRequest): readonly Overlap[] {
    const { kind, elements, taken, again } = request;
    if (isAlwaysNew(request)) return [];
    const stays = ({ operation: { state, printed, ...operation } }: Overlap): boolean =>
      (state === 'open' || !printed) && !(kind === 'burn' && operation.kind === 'burn');
    return this.overlaps(pick(elements, taken), null).filter((overlap) => !again || stays(overlap));
  }

  /** The same for every part of the file, so that two machines do not send two parts under two keys. */
  #derivedKey(kind: OperationKind, content: Sha256): string {
    const { address, flywheel } = this.#options.target;
    return derivedUuid('operation', kind, content, flywheel ?? address);
  }

  #inTheWay(request: OperationRequest): Begun | undefined {
    const { elements, taken, again, allowChanged, isKnown = false } = request;
    const same = this.#sameBurn(request);
    if (same?.busy === true && same.kind === 'burn') return busy(same);
    const found = same === undefined ? this.#overlaps(request) : overlapsWith(same, elements);
    const overlaps = found.filter(({ hasLanded }) => !(isKnown && hasLanded));
    // Beside what landed as it is, the changed ones are told also where they are allowed.
    const isLookedFor = !isAlwaysNew(request) && !again && !isKnown && (!allowChanged || overlaps.length > 0);
    const met = new Set(overlaps.map(({ digest }) => digest));
    const left = (taken ?? [...elements.keys()]).filter((at) => !met.has(elements[at]?.digest as Sha256));
    const changes = isLookedFor ? this.changes(elements, left) : [];
    return overlaps.length + changes.length > 0 ? { status: 'refused', overlaps, changes } : undefined;
  }

  #insert(request: OperationRequest): Begun {
    const stop = this.#inTheWay(request);
    if (stop !== undefined) return stop;
    const { kind, content, origin, command, elements, taken, again, allowChanged, before } = request;
    const key =
      origin.from === 'user'
        ? origin.key
        : // A repeat with `--again` gets a new key, even if this journal has lost earlier operations.
          origin.from === 'content' && !again
          ? this.#derivedKey(kind, content)
          : this.#options.ids.uuid();
    const notes = {
      ...request.notes(taken),
      ...(again && { again: before ?? true }),
      ...(allowChanged && { allowChanged }),
    };
    const row = this.insert({
      ...{ kind, key, origin: origin.from, content, state: 'open', holder: this.self },
      ...{ command, notes, body: request.body(), date: this.now },
    });
    this.claim(row.serial, pick(elements, taken));
    return { status: 'taken', entry: new SqliteEntry(this, row, true) };
  }

  /** A finished operation needs no lock. */
  #take(row: OperationSummary): Begun {
    if (isOver(row.state)) return { status: 'taken', entry: this.#entry(row) };
    if (row.busy) return busy(row);
    const held = this.change(row.serial, { holder: this.self, resumed: 1 });
    return { status: 'taken', entry: this.#entry(held) };
  }

  #entry(row: OperationSummary): SqliteEntry {
    return new SqliteEntry(this, row, false);
  }
}

const busy = ({ holder }: OperationSummary): Begun => ({
  status: 'busy',
  process: holder ?? '',
});

const overlapsWith = (operation: OperationSummary, elements: readonly Element[]): readonly Overlap[] =>
  elements.map(({ digest }) => ({ digest, hasLanded: false, date: operation.dateChanged, operation }));

const beingResumed = ({ dateBegun, holder }: OperationSummary): FlywheelError =>
  notSent(
    `The same operation was started ${dateBegun}, and process ${holder?.replace(/-.*/, '') ?? ''} is resuming it.`,
    'Wait for that process. If you run the command again later, everything is sent a second time.',
  );
