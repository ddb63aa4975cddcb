/** The options about what was done before, the same for every command that has them. */
import { Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { KeyOrigin } from '../journal/journal.js';
import { parseIdempotencyKey } from './idempotency-key.js';

export const AGAIN_OPTION = new Option('--again', 'do once more what has been done, as a new operation');

export const REST_OPTION = new Option('--rest', 'of what was done in part, do exactly what has not landed');

export const ONLY_NEW_OPTION = new Option('--only-new', 'leave out what has landed before by another file');

/** How often a file is to be done, and which part of it. */
export interface HowOften {
  readonly origin: KeyOrigin;
  readonly again: boolean;
  readonly rest: boolean;
  readonly onlyNew: boolean;
}

/** These options as they were typed; a command has those that it declares. */
interface OnceOptions {
  readonly idempotencyKey?: string;
  readonly again?: true;
  readonly rest?: true;
  readonly onlyNew?: true;
}

/** @throws `ERR_USAGE` for options that exclude each other. */
export function howOften(options: OnceOptions, rule: 'uuid' | 'text' = 'text'): HowOften {
  const key = parseIdempotencyKey(options.idempotencyKey, rule);
  const { again = false, rest = false, onlyNew = false } = options;
  if (Number(again) + Number(rest) + Number(onlyNew) > 1)
    throw new FlywheelError('ERR_USAGE', '--again, --rest and --only-new exclude each other.');
  if (key !== undefined && again)
    throw new FlywheelError('ERR_USAGE', '--again makes a key of its own; leave out --idempotency-key.');
  return { origin: key === undefined ? { from: 'content' } : { from: 'user', key }, again, rest, onlyNew };
}
