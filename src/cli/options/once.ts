/** The options about what was done before, the same for every command that has them. */
import { Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { KeyOrigin } from '../journal/journal.js';
import { parseIdempotencyKey } from './idempotency-key.js';

export const AGAIN_OPTION = new Option('--again', 'run it again as a new operation');

export const REST_OPTION = new Option('--rest', 'send only what has not landed yet, also of a changed file');

export const ALLOW_CHANGED_OPTION = new Option(
  '--allow-changed',
  'also send entries that landed with another amount or recipient',
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
  if (again && rest) throw new FlywheelError('ERR_USAGE', '--again and --rest cannot be combined.');
  if (key !== undefined && again)
    throw new FlywheelError(
      'ERR_USAGE',
      '--again and --idempotency-key cannot be combined: --again makes a new key.',
    );
  const origin: KeyOrigin = key === undefined ? { from: 'content' } : { from: 'user', key };
  return { origin, again, rest, allowChanged };
}
