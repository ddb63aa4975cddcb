/** What a burn would do, without doing it. */
import type { BurnsForesight } from '../../contract/dry-run.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { type ErrorCode, isErrorCode } from '../../errors/codes.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { proofHash } from '../../values/digest.js';
import type { Session } from '../command.js';
import { outlookOf } from '../dry-run.js';
import { viewBurnPlan } from '../views/burn.js';

/** The plan of `burn --dry-run`. */
export interface BurnPlan {
  readonly dryRun: true;
  readonly type: string;
  /** SHA-256 of the proof. */
  readonly hash: string;
  readonly amount: number;
  /** `null`: nobody here can say. */
  readonly foreseen: Omit<BurnsForesight, 'failures'> | null;
}

/** Prints what the burn would come to. @throws what the burn would be refused with. */
export async function showBurnPlan(session: Session, request: BurnRequest): Promise<undefined> {
  const outlook = await outlookOf(session);
  const looked =
    outlook.foresight === null ? null : await outlook.foresight.burns([request], outlook.credential);
  const [failure] = looked?.failures ?? [];
  if (failure !== undefined) {
    const code: ErrorCode = isErrorCode(failure.type) ? failure.type : 'ERR_BURN_TOKENOMICS_FAILED';
    throw new FlywheelError(code, failure.message);
  }
  const { failures: _none, ...foreseen } = looked ?? { failures: [] };
  const plan: BurnPlan = {
    dryRun: true,
    type: request.type,
    hash: proofHash(request.proof),
    amount: request.burnAmount,
    foreseen: looked === null ? null : (foreseen as BurnPlan['foreseen']),
  };
  session.output.result(plan, (style) => viewBurnPlan(plan, outlook, style));
}
