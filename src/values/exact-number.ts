/** Whether a number that was read from text is the number that was written. */
import { sameDecimal } from './token-amount.js';

/** Beyond so many characters no decimal is kept exactly. */
const MAX_DECIMAL_LENGTH = 400;

/** Up to 15 digits without an exponent always read back; that is nearly every number. */
export const isPlainlyExact = (text: string): boolean => text.length <= 15 && !/e/i.test(text);

/** Does the number stand for exactly the decimal that was written? Signs agree by construction. */
export function standsFor(text: string, value: number): boolean {
  const written = text.replace(/^-/, '');
  if (written.length > MAX_DECIMAL_LENGTH || !Number.isFinite(value)) return false;
  if (written === String(Math.abs(value))) return true;
  try {
    return sameDecimal(written, String(Math.abs(value)));
  } catch {
    return false;
  }
}
