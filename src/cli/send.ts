/** What goes along with a call of the service, and what its reply tells beside its value. */
import type { BatchCost, Call, ElementOutcome, Reply } from '../contract/call.js';
import { formatTokenAmount } from '../values/token-amount.js';
import type { Session } from './command.js';
import type { OpenedService } from './context.js';

/** What goes along with one request. */
export function callWith(
  session: Session,
  opened: OpenedService,
  idempotencyKey?: string,
  onElement?: (outcome: ElementOutcome) => void,
): Call {
  return {
    credential: opened.credential,
    signal: session.context.signal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(onElement === undefined ? {} : { onElement }),
  };
}

const SOL_DECIMALS = 9;

/** What a batch has cost so far, and what of it came back. */
function costSentence({ feeLamports, rentPaidLamports, rentReclaimedLamports }: BatchCost): string {
  const sol = (lamports: bigint): string => `${formatTokenAmount(lamports, SOL_DECIMALS)} SOL`;
  return `Cost so far: fees ${sol(feeLamports)}, rent ${sol(rentPaidLamports)} of which ${sol(rentReclaimedLamports)} came back.`;
}

/** Says on stderr what the reply tells beside its value. */
export function noteReply({ output }: Session, { meta }: Reply<unknown>): void {
  if (meta.cost !== undefined) output.notice(costSentence(meta.cost));
  if (meta.requestId !== undefined) output.detail(`request id: ${meta.requestId}`);
}
