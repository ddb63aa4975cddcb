/** Options that set what may be approved with a profile at most. */
import type { Command, OptionValues } from '@commander-js/extra-typings';
import { isLimitNumber, type Limits, NUMBER_LIMITS } from '../../approval/limits.js';
import { type Address, isAddress } from '../../values/address.js';
import type { Session } from '../command.js';
import { inputError, readOptionText } from '../input/read-input.js';

/** Takes a limit away. */
const NONE = 'none';

/** What the options change; `null` takes a limit away. */
type LimitChanges = { readonly [Name in keyof Limits]?: Limits[Name] | null };

/** Declares the options; each takes `none` as well. */
export const limitOptions = <Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) =>
  command
    .option('--batch-tokens <n>', 'most tokens to approve per batch, burned and airdropped')
    .option('--day-tokens <n>', 'most tokens to approve per UTC day')
    .option('--supply-percent <n>', 'most of the supply to approve per batch, in percent')
    .option('--recipients <list>', 'only approve airdrops to these addresses: a,b,… or @file or -')
    .option('--digest-above <n>', 'ask for the digest when a batch has more tokens');

const FLAGS = {
  batchTokens: '--batch-tokens',
  dayTokens: '--day-tokens',
  supplyPercent: '--supply-percent',
  digestAbove: '--digest-above',
} as const;

/** What was typed. */
type LimitOptions = { readonly [Name in keyof typeof FLAGS | 'recipients']?: string | undefined };

function numberChanges(options: LimitOptions): LimitChanges {
  const given = NUMBER_LIMITS.flatMap((name) => {
    const text = options[name];
    return text === undefined ? [] : [{ name, text }];
  });
  const wrong = given.find(({ text }) => text !== NONE && !isLimitNumber(text));
  if (wrong !== undefined) {
    const got = JSON.stringify(wrong.text.slice(0, 60));
    throw inputError(FLAGS[wrong.name], `expected a decimal number or ${NONE}, got ${got}`);
  }
  return Object.fromEntries(given.map(({ name, text }) => [name, text === NONE ? null : text]));
}

async function readRecipients({ context }: Session, option: string): Promise<readonly Address[]> {
  const { name, text } = await readOptionText(context, '--recipients', option);
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const wrong = words.find((word) => !isAddress(word));
  if (wrong !== undefined)
    throw inputError(name, `${JSON.stringify(wrong.slice(0, 60))} is not a base58 address of 32 bytes`);
  return [...new Set(words.filter(isAddress))];
}

/** @throws `ERR_INPUT_INVALID` naming the option. */
export async function readLimitChanges(session: Session, options: LimitOptions): Promise<LimitChanges> {
  const { recipients } = options;
  const numbers = numberChanges(options);
  if (recipients === undefined) return numbers;
  return { ...numbers, recipients: recipients === NONE ? null : await readRecipients(session, recipients) };
}

/** Limits with what has changed of them; those that were taken away are not there. */
export const changedLimits = (before: Limits, changes: LimitChanges): Limits =>
  Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null));
