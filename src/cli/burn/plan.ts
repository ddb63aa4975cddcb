/** Plans of burns for `--dry-run`, and the checks before a strict burn-batch. */
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { type ErrorCode, isErrorCode } from '../../errors/codes.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { proofHash } from '../../values/digest.js';
import type { Session } from '../command.js';
import { sumAmounts } from '../input/amount.js';
import { Problems } from '../input/problems.js';
import { outlookOf } from '../send.js';
import { viewBurnBatchPlan, viewBurnPlan } from '../views/burn.js';
import { countText } from '../views/unit.js';
import { cutBurns } from './requests.js';

/** @param isDone - nothing would be sent. @throws the same errors as the burn. */
export async function showBurnPlan(
  session: Session,
  request: BurnRequest,
  isDone: boolean,
): Promise<undefined> {
  const outlook = await outlookOf(session);
  const looked =
    outlook.foresight === null || isDone
      ? null
      : await outlook.foresight.burns([request], outlook.credential);
  const [failure] = looked?.failures ?? [];
  if (failure !== undefined) {
    const code: ErrorCode = isErrorCode(failure.type) ? failure.type : 'ERR_BURN_TOKENOMICS_FAILED';
    throw new FlywheelError(code, failure.message);
  }
  const { type, proof, burnAmount: amount } = request;
  const foreseen = looked && {
    ...{ burnWallet: looked.burnWallet, supply: looked.supply, usedToday: looked.usedToday },
  };
  const plan = { dryRun: true, type, hash: proofHash(proof), amount, foreseen };
  session.output.result(plan, (style) => viewBurnPlan(plan, outlook.symbol, style));
}

/** @throws `ERR_PARTIAL` when some would fail. */
export async function showBurnBatchPlan(session: Session, burns: readonly BurnRequest[]): Promise<undefined> {
  const outlook = await outlookOf(session);
  const foreseen =
    outlook.foresight === null ? null : await outlook.foresight.burns(burns, outlook.credential);
  const plan = {
    dryRun: true,
    elements: burns.length,
    requests: cutBurns(burns).length,
    totalAmount: sumAmounts(burns.map((burn) => burn.burnAmount)),
    types: sumByType(burns),
    foreseen,
  };
  session.output.result(plan, (style) => viewBurnBatchPlan(plan, outlook.symbol, style));
  const failed = foreseen?.failures.length ?? 0;
  if (failed === 0) return;
  throw new FlywheelError(
    'ERR_PARTIAL',
    `${failed} of ${countText(burns.length, 'burn')} would fail. Nothing was sent.`,
  );
}

function sumByType(burns: readonly BurnRequest[]) {
  const groups = new Map<string, number[]>();
  for (const { type, burnAmount } of burns) {
    const group = groups.get(type);
    if (group === undefined) groups.set(type, [burnAmount]);
    else group.push(burnAmount);
  }
  return Object.fromEntries(
    [...groups].map(([type, amounts]) => [type, { elements: amounts.length, amount: sumAmounts(amounts) }]),
  );
}

/** @param indexes - of the burns in their file. @throws `ERR_INPUT_INVALID` with every burn that would fail. */
export async function requireAllPossible(
  session: Session,
  burns: readonly BurnRequest[],
  indexes: readonly number[],
): Promise<void> {
  const outlook = await outlookOf(session);
  if (outlook.foresight === null) return;
  const { failures } = await outlook.foresight.burns(burns, outlook.credential);
  const problems = new Problems('--strict');
  for (const { index, message } of failures)
    problems.add(message.replace(/\.$/, ''), { path: `[${indexes[index] ?? index}]` });
  problems.throwIfAny();
}
