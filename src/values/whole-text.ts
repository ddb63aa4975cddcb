/** Text that UTF-8 can carry: half of a surrogate pair would arrive as another character. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** @throws `ERR_INVALID_REQUEST` for text with half of a surrogate pair. */
export function wholeText(text: string): string {
  if (text.isWellFormed()) return text;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    'Text holds half of a surrogate pair, which no UTF-8 text can carry.',
  );
}
