/** The options about what was done before, the same for every command that has them. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Invocation, OptionSpec } from '../command.js';
import type { KeyOrigin } from '../journal/journal.js';
import { parseIdempotencyKey } from './idempotency-key.js';

export const AGAIN_OPTION: OptionSpec = {
  flags: '--again',
  description: 'do once more what has been done, as a new operation',
};

export const REST_OPTION: OptionSpec = {
  flags: '--rest',
  description: 'of what was done in part, do exactly what has not landed',
};

export const ONLY_NEW_OPTION: OptionSpec = {
  flags: '--only-new',
  description: 'leave out what has landed before by another file',
};

/** How often a file is to be done, and which part of it. */
export interface HowOften {
  readonly origin: KeyOrigin;
  readonly again: boolean;
  readonly rest: boolean;
  readonly onlyNew: boolean;
}

/** @throws `ERR_USAGE` for options that exclude each other. */
export function howOften(invocation: Invocation, rule: 'uuid' | 'text' = 'text'): HowOften {
  const key = parseIdempotencyKey(invocation, rule);
  const [again, rest, onlyNew] = [
    invocation.flag('again'),
    invocation.flag('rest'),
    invocation.flag('onlyNew'),
  ];
  if (Number(again) + Number(rest) + Number(onlyNew) > 1)
    throw new FlywheelError('ERR_USAGE', '--again, --rest and --only-new exclude each other.');
  if (key !== undefined && again)
    throw new FlywheelError('ERR_USAGE', '--again makes a key of its own; leave out --idempotency-key.');
  return { origin: key === undefined ? { from: 'content' } : { from: 'user', key }, again, rest, onlyNew };
}
