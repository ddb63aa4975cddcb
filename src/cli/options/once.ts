/** The options about what was done before, the same for every command that has them. */
import { Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { KeyOrigin } from '../journal/journal.js';
import { parseIdempotencyKey } from './idempotency-key.js';

export const AGAIN_OPTION = new Option('--again', 'do once more what has been done, as a new operation');

export const REST_OPTION = new Option(
  '--rest',
  'send exactly what has not landed, of this file or a changed one',
);

export const ALLOW_CHANGED_OPTION = new Option(
  '--allow-changed',
  'send in full also what has landed with another amount or recipient',
);

/** How often a file is to be done, and which part of it. */
export interface HowOften {
  readonly origin: KeyOrigin;
  readonly again: boolean;
  readonly rest: boolean;
  readonly allowChanged: boolean;
}

/** These options as they were typed; a command has those that it declares. */
interface OnceOptions {
  readonly idempotencyKey?: string;
  readonly again?: true;
  readonly rest?: true;
  readonly allowChanged?: true;
}

/** @throws `ERR_USAGE` for options that exclude each other. */
export function howOften(options: OnceOptions, rule: 'uuid' | 'text' = 'text'): HowOften {
  const key = parseIdempotencyKey(options.idempotencyKey, rule);
  const { again = false, rest = false, allowChanged = false } = options;
  if (again && rest) throw new FlywheelError('ERR_USAGE', '--again and --rest exclude each other.');
  if (key !== undefined && again)
    throw new FlywheelError('ERR_USAGE', '--again makes a key of its own; leave out --idempotency-key.');
  const origin: KeyOrigin = key === undefined ? { from: 'content' } : { from: 'user', key };
  return { origin, again, rest, allowChanged };
}
