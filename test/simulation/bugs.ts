/** Bugs that were found in this program by people and by the simulator, as what the right text was before. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** A right text, which stands in its file once, and the wrong one that it becomes. */
export type Change = readonly [file: string, right: string, wrong: string];

/** One bug. Where another line would hide it, that line is changed as well. */
export interface KnownBug {
  readonly name: string;
  readonly changes: readonly Change[];
}

/** A source with its part of the bug in it. @throws TypeError when it does not hold a right text exactly once */
export function withBug({ name, changes }: KnownBug, file: string): string {
  let text = readFileSync(resolve(file), 'utf8');
  for (const [where, right, wrong] of changes) {
    if (where !== file) continue;
    if (text.split(right).length !== 2)
      throw new TypeError(`${name}: ${file} does not hold exactly once: ${right}`);
    text = text.replace(right, () => wrong);
  }
  return text;
}

export const KNOWN_BUGS: readonly KnownBug[] = [
  {
    name: 'settled-by-a-refusal-at-the-door',
    changes: [
      [
        'src/cli/operation/run-operation.ts',
        '(entry.isNew && saysNothingWasDone(error))',
        'saysNothingWasDone(error)',
      ],
    ],
  },
  {
    name: 'a-try-under-way-forgotten',
    changes: [['src/client/send.ts', "if (meaning === 'under-way') tried.underWay = true;", '']],
  },
  {
    name: 'lost-answer-taken-for-none',
    changes: [['src/client/send.ts', "if (meaning === 'maybe-done') tried.maybeDone = true;", '']],
  },
  {
    name: 'execute-key-for-init',
    changes: [
      [
        'src/cli/batch/batch-stages.ts',
        "return this.at === 0 ? this.#entry.key : derivedUuid(this.#entry.key, 'rest', String(this.at));",
        "return this.note.signedTx === undefined ? this.#entry.key : derivedUuid(this.#entry.key, 'execute', this.note.signedTx);",
      ],
      [
        'src/cli/batch/batch-stages.ts',
        'return this.#entry.answer(this.initAnswerName) as InitBatchResult | undefined;',
        'return this.note.signedTx === undefined ? (this.#entry.answer(this.initAnswerName) as InitBatchResult | undefined) : undefined;',
      ],
    ],
  },
  {
    name: 'key-given-up-before-the-output-is-out',
    changes: [
      [
        'src/cli/operation/run-operation.ts',
        'const failure = await print(session, entry, work, result);',
        'attempt(() => entry.printed || entry.markPrinted()); const failure = await print(session, entry, work, result);',
      ],
    ],
  },
  {
    name: 'cap-of-the-day-of-init-only',
    changes: [
      [
        'src/engine/batches/holds.ts',
        'await requireCaps(tx, { token, flywheel, day, asked, exceptBatch: batch.id });',
        'void [token, flywheel, day, asked];',
      ],
    ],
  },
  {
    name: 'rolled-back-state-stays',
    changes: [
      [
        'src/chain/local/squads/run-instruction.ts',
        'const data = copyBytes(state.data);',
        'const data = state.data as Uint8Array; void copyBytes;',
      ],
    ],
  },
  {
    name: 'dead-holder-taken-for-done',
    changes: [
      [
        'src/cli/journal/sqlite-journal.ts',
        "AND (state = 'open' OR told = 0) ORDER BY serial`;",
        "AND told = 0 AND state <> 'open' ORDER BY serial`;",
      ],
    ],
  },
  {
    name: 'signed-again-before-expiry',
    changes: [
      [
        'src/chain/chain.ts',
        'lastValidBlockHeight <= expiredHeight;',
        'lastValidBlockHeight <= expiredHeight || expiredHeight >= 0n;',
      ],
    ],
  },
  {
    name: 'two-work-on-one-batch',
    changes: [
      [
        'src/engine/batches/batch-claim.ts',
        'if (isWorkedOn(deps, tx, batch)) throw',
        "if (isWorkedOn(deps, tx, batch) && batch.id === '') throw",
      ],
      [
        'src/engine/batches/batch-claim.ts',
        'return tx.batches.renew(id, instance, toMs);',
        'await tx.batches.claim(id, instance, toMs);\n    return true;',
      ],
    ],
  },
  {
    name: 'two-work-on-one-request',
    changes: [
      [
        'src/engine/requests/requests.ts',
        "if (earlier.status === 'running' && isWorkedOn(deps, at, earlier))",
        "if (earlier.status === 'running' && isWorkedOn(deps, at, earlier) && earlier.id === '')",
      ],
      [
        'src/engine/requests/requests.ts',
        'prolong: (tx, instance, toMs) => tx.requests.renew(requestId, instance, toMs),',
        'prolong: async () => true,',
      ],
    ],
  },
  {
    name: 'rest-of-two-files',
    changes: [
      [
        'src/cli/journal/sqlite-entry.ts',
        'if (this.#table.elements.overlaps(elements, row.serial).length > 0) return false;',
        '',
      ],
      [
        'src/cli/journal/sqlite-entry.ts',
        'return this.#table.elements.overlaps(elements, this.#row.serial);',
        'return elements.length < 0 ? [] : [];',
      ],
    ],
  },
  {
    name: 'overlapping-files',
    changes: [
      [
        'src/cli/journal/sqlite-journal.ts',
        ".filter(({ operation }) => !again || operation.state === 'open');",
        '.filter(() => false && again);',
      ],
    ],
  },
  {
    name: 'rent-of-an-executed-batch',
    changes: [
      [
        'src/engine/batches/cancel-batch.ts',
        "if (batch.status === 'EXECUTED' && !needsClosing(batch)) {",
        "if (batch.status === 'EXECUTED' && needsClosing !== undefined) {",
      ],
    ],
  },
  {
    name: 'cancel-that-never-ends',
    changes: [
      [
        'src/cli/batch/cancel-work.ts',
        "status === 'EXECUTED' ? error.with({ keyUnused: true }) : error",
        "status === 'EXECUTED' ? error.with({}) : error",
      ],
    ],
  },
  {
    name: 'files-of-different-moments',
    changes: [
      [
        'src/compose/two-files.ts',
        'if (store.ledgerHeight > ledger.height) {',
        "if (store.ledgerHeight > ledger.height && expected === '') {",
      ],
      [
        'src/compose/two-files.ts',
        'if (ledger.storeRevision > store.revision) {',
        "if (ledger.storeRevision > store.revision && expected === '') {",
      ],
    ],
  },
  {
    name: 'journal-of-a-path',
    changes: [['src/compose/embedded-service.ts', 'config.genesis}', 'settings.dataDir.value}']],
  },
  {
    name: 'pending-dropped-by-the-clock',
    changes: [
      [
        'src/cli/journal/operations-table.ts',
        "this.#run('INSERT INTO days (day) VALUES (?)', [day]);",
        [
          "this.#run('INSERT INTO days (day) VALUES (?)', [day]);",
          "const old = 'operation IN (SELECT serial FROM operations WHERE date_changed < ?)';",
          'const since = [isoTime(this.#clock.nowMs() - 30 * 86_400_000)];',
          "this.#run('DELETE FROM elements WHERE ' + old, since);",
          "this.#run('DELETE FROM answers WHERE ' + old, since);",
          "this.#run('DELETE FROM operations WHERE date_changed < ?', since);",
        ].join(' '),
      ],
    ],
  },
  {
    name: 'key-in-capitals-is-another',
    changes: [
      ['src/cli/options/idempotency-key.ts', 'return isUuid(key) ? key.toLowerCase() : key;', 'return key;'],
      ['src/contract/headers.ts', 'return isUuid(key) ? key.toLowerCase() : key;', 'return key;'],
    ],
  },
  {
    name: 'done-again-by-typing-again',
    changes: [
      [
        'src/cli/options/once.ts',
        "key === undefined ? { from: 'content' }",
        "key === undefined ? { from: 'chance' }",
      ],
      [
        'src/cli/journal/sqlite-journal.ts',
        ".filter(({ operation }) => !again || operation.state === 'open');",
        '.filter(() => false && again);',
      ],
    ],
  },
];
