/** Exit codes of the process and their meaning (contract, section 2.4). */

/** README, docs/errors.md and `flywheel help exit-codes` print this table. */
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

/** Default exit code of an HTTP status; an error code may override it. */
export function exitOfStatus(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.auth;
  if (status === 408 || status === 429 || (status >= 502 && status <= 504)) return EXIT.unavailable;
  return status >= 500 ? EXIT.internal : EXIT.refused;
}

interface ExitCodeRow {
  readonly code: ExitCode;
  readonly meaning: string;
  readonly script: string;
}

export const EXIT_CODES: readonly ExitCodeRow[] = [
  { code: EXIT.done, meaning: 'done', script: 'continue' },
  {
    code: EXIT.internal,
    meaning: 'internal error',
    script: 'Stop and keep the output of stderr. List unfinished operations: `flywheel pending`',
  },
  {
    code: EXIT.usage,
    meaning: 'wrong usage or invalid input; nothing was sent (a 400 from a service is 5)',
    script: 'Fix the command or the file; repeating it unchanged fails again',
  },
  {
    code: EXIT.partial,
    meaning: 'burn-batch: some burns failed',
    script: 'Correct the file of --failed-out and send it, or run the same command with --rest',
  },
  {
    code: EXIT.auth,
    meaning: 'not authenticated or not allowed (401, 403)',
    script: 'Stop. Run `flywheel whoami`: it shows where the key comes from',
  },
  {
    code: EXIT.refused,
    meaning: 'refused by the service (other 4xx), or not found',
    script: 'Stop. Fix the cause that the error code names, then run the same command again',
  },
  {
    code: EXIT.unavailable,
    meaning: 'rate limited or unavailable after three attempts',
    script: 'Wait, then run `flywheel pending resume --yes`. If nothing is pending, run the same command',
  },
  {
    code: EXIT.unknownOutcome,
    meaning:
      'outcome unknown: sent, but the answer is missing or contradictory; the hint has the command that resumes',
    script:
      'Run `flywheel pending resume --yes` until the exit code changes. If nothing is pending, follow the hint. Never use a new idempotency key',
  },
  {
    code: EXIT.pending,
    meaning: 'still pending when --wait ran out',
    script: 'Wait, then run `flywheel pending resume --yes`',
  },
  {
    code: EXIT.unsafe,
    meaning: 'refused for safety (approval check failed)',
    script: 'Stop and investigate. Nothing was signed',
  },
  {
    code: EXIT.failedOnChain,
    meaning: 'failed on chain: the batch or the registration failed',
    script: 'Stop. `flywheel batch show` shows the reason; `flywheel batch run --rest` runs the rest',
  },
  {
    code: EXIT.interrupted,
    meaning: 'interrupted or declined',
    script: 'Run `flywheel pending`: it lists what was started',
  },
];
