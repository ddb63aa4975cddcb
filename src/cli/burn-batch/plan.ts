/** How a long list of burns goes out in requests that the service takes, and what it would do, without doing it. */
import type { BurnsForesight } from '../../contract/foresight.js';
import { MAX_BODY_BYTES } from '../../contract/limits.js';
import { type BurnRequest, MAX_BURN_BATCH_ELEMENTS } from '../../contract/schemas/burn.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { derivedUuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import { outlookOf } from '../foresight.js';
import { sumAmounts } from '../input/amount.js';
import { Problems } from '../input/problems.js';
import { burnDigests, contentDigest } from '../operation/elements.js';
import { noteKnown } from '../operation/known.js';
import { viewBurnBatchPlan } from '../views/burn-batch.js';
import { countText } from '../views/unit.js';

/** Brackets of the array, and a comma an element. */
const sizeBytes = (burn: BurnRequest): number => Buffer.byteLength(JSON.stringify(burn)) + 1;

/** How many elements each request takes, in order, within the limits of elements and bytes. */
export function cutBurns(burns: readonly BurnRequest[]): readonly number[] {
  const counts: number[] = [];
  let bytes = 0;
  for (const burn of burns) {
    const size = sizeBytes(burn);
    const last = counts.length - 1;
    const count = counts[last] ?? 0;
    if (last < 0 || count === MAX_BURN_BATCH_ELEMENTS || bytes + size > MAX_BODY_BYTES) {
      counts.push(1);
      bytes = 2 + size;
    } else {
      counts[last] = count + 1;
      bytes += size;
    }
  }
  return counts;
}

/** The key of a request: the first has the key itself. */
export const partKey = (key: string, at: number): string => (at === 0 ? key : derivedUuid(key, String(at)));

/** The plan of `burn-batch --dry-run`. */
export interface BurnBatchPlan {
  readonly dryRun: true;
  readonly elements: number;
  readonly requests: number;
  /** Whole tokens as decimal text. */
  readonly totalAmount: string;
  readonly types: Readonly<Record<string, { readonly elements: number; readonly amount: string }>>;
  /** `null`: nobody here can say. */
  readonly foreseen: BurnsForesight | null;
}

/** Prints the plan of checked burns. @throws `ERR_PARTIAL` when some would fail. */
export async function showBurnBatchPlan(session: Session, burns: readonly BurnRequest[]): Promise<undefined> {
  await noteKnown(session, 'burn-batch', contentDigest(burnDigests(burns)));
  const outlook = await outlookOf(session);
  const foreseen =
    outlook.foresight === null ? null : await outlook.foresight.burns(burns, outlook.credential);
  const plan: BurnBatchPlan = {
    dryRun: true,
    elements: burns.length,
    requests: cutBurns(burns).length,
    totalAmount: sumAmounts(burns.map((burn) => burn.burnAmount)),
    types: sumByType(burns),
    foreseen,
  };
  session.output.result(plan, (style) => viewBurnBatchPlan(plan, outlook, style));
  const failed = foreseen?.failures.length ?? 0;
  if (failed === 0) return;
  throw new FlywheelError(
    'ERR_PARTIAL',
    `${failed} of ${countText(burns.length, 'element')} would fail; nothing was sent.`,
  );
}

function sumByType(burns: readonly BurnRequest[]): BurnBatchPlan['types'] {
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

/**
 * Makes sure, as far as it can be known here, that none of these will fail.
 * @param indexes - of the burns in their file.
 * @throws `ERR_INPUT_INVALID` with every one that would.
 */
export async function requireAllPossible(
  session: Session,
  burns: readonly BurnRequest[],
  indexes: readonly number[],
): Promise<void> {
  const outlook = await outlookOf(session);
  if (outlook.foresight === null) {
    session.output.warn(`Scopes, types, caps and balances could not be checked first: ${outlook.reason}.`);
    return;
  }
  const { failures } = await outlook.foresight.burns(burns, outlook.credential);
  const problems = new Problems('--strict');
  for (const { index, message } of failures)
    problems.add(`[${indexes[index] ?? index}]`, message.replace(/\.$/, ''));
  problems.throwIfAny();
}
