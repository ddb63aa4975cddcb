/** The time lock of a multisig that somebody else has made: between the last approval of a batch and its execution. */
import { setTimeout } from 'node:timers/promises';
import { decodeClock } from '../../chain/account.js';
import { CLOCK_SYSVAR } from '../../chain/programs.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import type { Lease } from '../lease.js';
import type { BatchState } from './on-chain.js';

/** A shorter rest is waited for. */
const MAX_WAIT_SECONDS = 60n;
/** By so much a node may be behind the one that told the time: executed too early, a batch has failed for good. */
const MARGIN_SECONDS = 5n;
const POLL_MS = 500;
const MS_PER_SECOND = 1_000;

/** What the chain takes for the time: unix seconds. */
async function chainSeconds({ chain, clock }: EngineDeps): Promise<bigint> {
  const [account] = await chain.getAccounts([CLOCK_SYSVAR]);
  return decodeClock(account)?.unixTimestamp ?? BigInt(Math.floor(clock.nowMs() / MS_PER_SECOND));
}

/**
 * Waits until an approved batch may be executed, if that is soon.
 * @throws `ERR_BATCH_IN_PROGRESS` saying until when, if it is not; the batch stays approved.
 */
export async function waitOutTimeLock(
  deps: EngineDeps,
  batchId: string,
  { multisig, proposal }: BatchState,
  lease: Lease,
): Promise<void> {
  if (multisig.timeLockSeconds === 0 || proposal?.status.kind !== 'Approved') return;
  const end = proposal.status.timestamp + BigInt(multisig.timeLockSeconds) + MARGIN_SECONDS;
  for (;;) {
    const left = end - (await chainSeconds(deps));
    if (left <= 0n) return;
    if (left > MAX_WAIT_SECONDS || lease.signal?.aborted === true) throw lockedUntil(batchId, end, left);
    await setTimeout(POLL_MS);
  }
}

const lockedUntil = (batchId: string, end: bigint, left: bigint): FlywheelError =>
  new FlywheelError(
    'ERR_BATCH_IN_PROGRESS',
    `Batch ${batchId} is approved. The time lock of its multisig ends ${isoTime(Number(end) * MS_PER_SECOND)}.`,
    {
      retryAfterSeconds: Number(left),
      hint: 'Execute it after that; a running server does so by itself.',
    },
  );
