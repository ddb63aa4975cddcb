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

/** One line a code, in the order in which help and documents print them. */
export const EXIT_CODE_MEANINGS: readonly (readonly [ExitCode, string])[] = [
  [EXIT.done, 'done'],
  [EXIT.internal, 'internal error'],
  [EXIT.usage, 'usage, or the input is invalid; nothing was sent (a 400 from a service is 5)'],
  [EXIT.partial, 'burn-batch: some elements failed'],
  [EXIT.auth, 'not authenticated or not allowed (401, 403)'],
  [EXIT.refused, 'refused by the service (other 4xx), or not found'],
  [EXIT.unavailable, 'rate limited or unavailable after waiting --max-wait'],
  [
    EXIT.unknownOutcome,
    'outcome unknown: sent, and no answer or one that contradicts it; the command that resumes safely is printed',
  ],
  [EXIT.pending, 'still pending when --timeout ended'],
  [EXIT.unsafe, 'refused for safety (approval check failed)'],
  [EXIT.failedOnChain, 'failed on chain: the batch is FAILED, or the registration was not made'],
  [EXIT.interrupted, 'interrupted or declined'],
];
