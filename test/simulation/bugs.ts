/** Bugs that were found in this program by people and by the simulator, as what the right text was before. */

/** One bug: in its file each right text, which stands there once, becomes the wrong one. */
export interface KnownBug {
  readonly name: string;
  readonly file: string;
  readonly changes: readonly (readonly [right: string, wrong: string])[];
}

export const KNOWN_BUGS: readonly KnownBug[] = [
  {
    name: 'settled-by-a-refusal-at-the-door',
    file: 'src/cli/operation/run-operation.ts',
    changes: [['(entry.isNew && saysNothingWasDone(error))', 'saysNothingWasDone(error)']],
  },
  {
    name: 'a-try-under-way-forgotten',
    file: 'src/client/send.ts',
    changes: [["if (meaning === 'under-way') story.underWay = true;", '']],
  },
  {
    name: 'lost-answer-taken-for-none',
    file: 'src/client/send.ts',
    changes: [["if (meaning === 'maybe-done') story.maybeDone = true;", '']],
  },
  {
    name: 'execute-key-for-init',
    file: 'src/cli/batch/batch-stages.ts',
    changes: [
      [
        "return this.at === 0 ? this.#entry.key : derivedUuid(this.#entry.key, 'rest', String(this.at));",
        "return this.note.signedTx === undefined ? this.#entry.key : derivedUuid(this.#entry.key, 'execute', this.note.signedTx);",
      ],
      [
        'return this.#entry.answer(this.initAnswerName) as InitBatchResult | undefined;',
        'return this.note.signedTx === undefined ? (this.#entry.answer(this.initAnswerName) as InitBatchResult | undefined) : undefined;',
      ],
    ],
  },
  {
    name: 'key-given-up-before-the-output-is-out',
    file: 'src/cli/operation/run-operation.ts',
    changes: [
      [
        'const failure = await print(session, entry, work, result);',
        'attempt(() => entry.told || entry.tell()); const failure = await print(session, entry, work, result);',
      ],
    ],
  },
  {
    name: 'cap-of-the-day-of-init-only',
    file: 'src/engine/batches/holds.ts',
    changes: [
      [
        'await requireCaps(tx, { token, flywheel, day, asked, exceptBatch: batch.id });',
        'void [token, flywheel, day, asked];',
      ],
    ],
  },
  {
    name: 'rolled-back-state-stays',
    file: 'src/chain/local/squads/run-instruction.ts',
    changes: [
      ['const data = copyBytes(state.data);', 'const data = state.data as Uint8Array; void copyBytes;'],
    ],
  },
  {
    name: 'dead-holder-taken-for-done',
    file: 'src/cli/journal/sqlite-journal.ts',
    changes: [
      [
        "AND (state = 'open' OR told = 0) ORDER BY serial`;",
        "AND told = 0 AND state <> 'open' ORDER BY serial`;",
      ],
    ],
  },
  {
    name: 'signed-again-before-expiry',
    file: 'src/engine/settle/expiry.ts',
    changes: [
      [
        'lastValidBlockHeight <= expiredHeight;',
        'lastValidBlockHeight <= expiredHeight || expiredHeight >= 0n;',
      ],
    ],
  },
  {
    name: 'two-work-on-one-batch',
    file: 'src/engine/batches/batch-claim.ts',
    changes: [['if (isWorkedOn(deps, batch)) {', "if (isWorkedOn(deps, batch) && batch.id === '') {"]],
  },
  {
    name: 'two-work-on-one-request',
    file: 'src/engine/requests/requests.ts',
    changes: [
      [
        "if (earlier.status === 'running' && isWorkedOn(deps, earlier)) throw",
        "if (earlier.status === 'running' && isWorkedOn(deps, earlier) && earlier.id === '') throw",
      ],
    ],
  },
  {
    name: 'rest-of-two-files',
    file: 'src/cli/journal/sqlite-entry.ts',
    changes: [
      ['if (this.#table.overlaps(elements, row.serial).length > 0) return false;', ''],
      ['return this.#table.overlaps(elements, this.#row.serial);', 'return elements.length < 0 ? [] : [];'],
    ],
  },
  {
    name: 'overlapping-files',
    file: 'src/cli/journal/sqlite-journal.ts',
    changes: [
      [".filter(({ operation }) => !again || operation.state === 'open');", '.filter(() => false && again);'],
    ],
  },
  {
    name: 'rent-of-an-executed-batch',
    file: 'src/engine/batches/cancel-batch.ts',
    changes: [
      [
        "if (batch.status === 'EXECUTED' && !needsClosing(batch)) {",
        "if (batch.status === 'EXECUTED' && needsClosing !== undefined) {",
      ],
    ],
  },
  {
    name: 'cancel-that-never-ends',
    file: 'src/cli/batch/cancel-work.ts',
    changes: [
      [
        "status === 'EXECUTED' ? error.with({ keyUnused: true }) : error",
        "status === 'EXECUTED' ? error.with({}) : error",
      ],
    ],
  },
];
