/** Converts written amounts to JSON numbers of the same decimal value, and adds amounts exactly. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import {
  formatTokenAmount,
  sameDecimal,
  scientific,
  tokenAmountFromNumber,
} from '../../values/token-amount.js';
import type { Session } from '../command.js';

const DECIMAL = /^[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?$/;
const MAX_SHOWN = 60;

type ReadAmount = { readonly value: number } | { readonly problem: string };

export const shortened = (text: string): string =>
  text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;

/** The message of a failed check, without a full stop; `undefined`: no error. */
export function reasonOf(check: () => unknown): string | undefined {
  try {
    const reason = check();
    return typeof reason === 'string' ? reason : undefined;
  } catch (error) {
    if (error instanceof FlywheelError) return error.message.replace(/\.$/, '');
    throw error;
  }
}

/** Decimal text as a JSON number; refused when the number would read back as another decimal. */
export function readAmountText(text: string): ReadAmount {
  const shown = JSON.stringify(shortened(text));
  if (!DECIMAL.test(text)) return { problem: `expected a positive decimal number, got ${shown}` };
  const value = Number(text);
  if (!(value > 0)) return { problem: `expected a positive number, got ${shown}` };
  const readsBack = (): boolean => sameDecimal(text, String(value));
  if (!Number.isFinite(value) || reasonOf(() => readsBack() || 'another') !== undefined)
    return { problem: `${shown} cannot be sent as a JSON number without rounding it` };
  return { value };
}

export function sumAmounts(amounts: readonly number[]): string {
  const parts = amounts.map((amount) => scientific(String(amount)));
  const low = parts.reduce((least, { exponent }) => Math.min(least, exponent), 0);
  const sum = parts.reduce(
    (total, { digits, exponent }) => total + digits * 10n ** BigInt(exponent - low),
    0n,
  );
  return formatTokenAmount(sum, -low);
}

/** The problem of an amount with too many decimals, without a full stop, or `undefined`. */
export const checkDecimals = (amount: number, decimals: number): string | undefined =>
  reasonOf(() => void tokenAmountFromNumber(amount, decimals));

/** From the pins: a mint never changes its decimals. `null`: unknown. A dry run needs no service for this. */
export async function knownDecimals(session: Session, dryRun: boolean): Promise<number | null> {
  try {
    const decimals = (await session.service()).pins?.facts?.['mint.decimals'];
    return decimals === undefined ? null : Number(decimals);
  } catch (error) {
    if (!dryRun) throw error;
    return null;
  }
}
