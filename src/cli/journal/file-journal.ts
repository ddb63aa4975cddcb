/**
 * Idempotency keys on disk, one empty-handed file a pending request: its *name* says request, key and holder, so that
 * taking an entry over is one atomic rename and two processes can never both succeed.
 *
 * The name is `<request>.<key>.<holder>.json`; the content is for people.
 */
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { IDEMPOTENCY_RETENTION_DAYS } from '../../contract/limits.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { sha256 } from '../../values/digest.js';
import { randomIds, type Uuid } from '../../values/ids.js';
import { type Clock, isoTime } from '../../values/time.js';
import type { IdempotencyJournal, JournalEntry, JournalRequest } from '../context.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import { isRunning, processIdentity } from './process-identity.js';

export interface JournalOptions {
  /** Made when missing, for the user alone. */
  readonly directory: string;
  /** What the requests go to: an address of an API and who asks, or a data directory. */
  readonly target: string;
  readonly pid: number;
  readonly clock: Clock;
  /** @default random UUIDs */
  readonly newKey?: () => Uuid;
}

/** Holder of an entry that a living process has given up. */
const NOBODY = '0-0';
const DAY_MS = 86_400_000;
const NAME = /^([0-9a-f]{64})\.([0-9a-f-]{36})\.([0-9]+-[0-9a-z]+)\.json$/;

interface Found {
  readonly file: string;
  readonly key: string;
  readonly holder: string;
}

/** A journal in a directory of its own. */
export function createFileJournal(options: JournalOptions): IdempotencyJournal {
  const newKey = options.newKey ?? randomIds.uuid;
  let self: string | undefined;
  return {
    begin(request) {
      self ??= processIdentity(options.pid);
      const name = sha256(JSON.stringify([options.target, request.operation, request.fingerprint]));
      const taken = takeOver(options, name, self);
      if (taken !== undefined) return entry(options.directory, name, taken, self, true);
      const key = newKey();
      record(options, request, name, key, self);
      return entry(options.directory, name, key, self, false);
    },
  };
}

const fileName = (name: string, key: string, holder: string): string => `${name}.${key}.${holder}.json`;

function find(directory: string, name: string): readonly Found[] {
  let files: readonly string[];
  try {
    files = readdirSync(directory);
  } catch {
    return [];
  }
  return files.flatMap((file) => {
    const [, request, key = '', holder = ''] = NAME.exec(file) ?? [];
    return request === name ? [{ file, key, holder }] : [];
  });
}

/** The key of an earlier try that nobody works on any more, now held by `self`. */
function takeOver(options: JournalOptions, name: string, self: string): string | undefined {
  for (const { file, key, holder } of find(options.directory, name)) {
    if (holder !== NOBODY && isRunning(holder)) continue;
    const path = join(options.directory, file);
    try {
      const ageMs = options.clock.nowMs() - statSync(path).mtimeMs;
      // A service may have forgotten older keys; using one again could act twice.
      if (ageMs > IDEMPOTENCY_RETENTION_DAYS * DAY_MS) {
        rmSync(path, { force: true });
        continue;
      }
      renameSync(path, join(options.directory, fileName(name, key, self)));
      return key;
    } catch {
      // Another process was faster.
    }
  }
  return undefined;
}

function record(
  options: JournalOptions,
  request: JournalRequest,
  name: string,
  key: string,
  self: string,
): void {
  const content = {
    operation: request.operation,
    target: options.target,
    idempotencyKey: key,
    dateCreated: isoTime(options.clock.nowMs()),
  };
  try {
    makePrivateDirectory(options.directory);
    writeFileAtomic(join(options.directory, fileName(name, key, self)), `${JSON.stringify(content)}\n`, {
      mode: 0o600,
    });
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `The idempotency key cannot be kept, so nothing was sent: ${error.message}`,
      { cause: error },
    );
  }
}

function entry(directory: string, name: string, key: string, self: string, resumed: boolean): JournalEntry {
  const path = join(directory, fileName(name, key, self));
  return {
    key,
    resumed,
    settle: () => rmSync(path, { force: true }),
    leave: () => {
      try {
        renameSync(path, join(directory, fileName(name, key, NOBODY)));
      } catch {
        // The holder's name in the file does no harm: this process is about to end.
      }
    },
  };
}
