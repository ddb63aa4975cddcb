/** The process's exit numbers and what each means (contract, section 2.4). */

/** Exit number by meaning; README, docs/errors.md and `flywheel help exit-codes` print this table. */
export const EXIT = {
  done: 0,
  internal: 1,
  usage: 2,
  partial: 3,
  auth: 4,
  refused: 5,
  unavailable: 6,
  unknownOutcome: 7,
  pending: 8,
  unsafe: 9,
  failedOnChain: 10,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An exit number, for people who write scripts. */
interface ExitCodeRow {
  readonly code: ExitCode;
  readonly meaning: string;
  /** What a script should do then. */
  readonly script: string;
}

/** In the order in which help and documents print them. */
export const EXIT_CODES: readonly ExitCodeRow[] = [
  { code: EXIT.done, meaning: 'done', script: 'go on' },
  {
    code: EXIT.internal,
    meaning: 'internal error',
    script: 'stop and keep standard error; `flywheel pending` lists what was begun',
  },
  {
    code: EXIT.usage,
    meaning: 'usage, or the input is invalid; nothing was sent (a 400 from a service is 5)',
    script: 'mend the command or the file; again as it is, it fails again',
  },
  {
    code: EXIT.partial,
    meaning: 'burn-batch: some elements failed',
    script: 'mend what --failed-out wrote and send that, or the same command with --rest',
  },
  {
    code: EXIT.auth,
    meaning: 'not authenticated or not allowed (401, 403)',
    script: 'stop; `flywheel whoami` shows which key was used',
  },
  {
    code: EXIT.refused,
    meaning: 'refused by the service (other 4xx), or not found',
    script: 'stop and read the error code; again as it is, it is refused again',
  },
  {
    code: EXIT.unavailable,
    meaning: 'rate limited or unavailable after waiting --max-wait',
    script: 'later `flywheel pending resume`; where nothing is pending, the same command',
  },
  {
    code: EXIT.unknownOutcome,
    meaning:
      'outcome unknown: sent, and no answer or one that contradicts it; the command that resumes safely is printed',
    script: '`flywheel pending resume` until it ends otherwise; never the command with a new idempotency key',
  },
  {
    code: EXIT.pending,
    meaning: 'still pending when --timeout ended',
    script: 'later `flywheel pending resume`, as after 7',
  },
  {
    code: EXIT.unsafe,
    meaning: 'refused for safety (approval check failed)',
    script: 'stop, and have somebody look: nothing was signed',
  },
  {
    code: EXIT.failedOnChain,
    meaning: 'failed on chain: the batch is FAILED, or the registration was not made',
    script: 'stop; `flywheel batch show` says why, `flywheel batch run --rest` does the rest',
  },
  {
    code: EXIT.interrupted,
    meaning: 'interrupted or declined',
    script: '`flywheel pending` lists what was begun before',
  },
];
