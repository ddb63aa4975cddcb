/** What a user's program said on its standard error, as far as it may be shown: its end, with nothing that could be a key. */
import { visibleLine } from '../values/text.js';

/** Bytes that are kept while the program runs; only the end is ever shown. */
const MAX_KEPT = 4_096;
const MAX_SHOWN = 300;

/** Keys, tokens and signatures as people write them: runs of characters without a space, lists of numbers, what follows `key=`. */
const SECRETS = [
  /\[?(?:\d{1,3}\s*,\s*){15,}(?:\d{1,3})?(?:\s*\])?/g,
  /(?<=(?:key|secret|token|password|passphrase|authorization)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s,;]+)/gi,
  /[A-Za-z0-9+/=_.-]{32,}/g,
];

/** The end of what was said, on one line; `''` if nothing was. */
export function visibleErrors(text: string): string {
  const masked = SECRETS.reduce((shown, secret) => shown.replace(secret, '***'), text.slice(-MAX_KEPT));
  const line = visibleLine(masked.trim().replace(/\s*\n\s*/g, ' | '));
  return line.length > MAX_SHOWN ? `…${line.slice(-MAX_SHOWN)}` : line;
}

/** Keeps no more than the end. */
export const keepEnd = (kept: string, more: string): string => `${kept}${more}`.slice(-MAX_KEPT);
