/** Logs of a transaction ⇄ the text that is kept of them: what nearly every log says stands there as one character. */
import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../programs.js';

const budgetLines = ['invoke [1]', 'success'].map((end) => `"Program ${COMPUTE_BUDGET_PROGRAM} ${end}",`);

/**
 * Parts of JSON text of logs, each for the control character that its place in the list is, from U+0001: JSON text has none of
 * those itself, so that what was written is read exactly, whatever a program logs.
 *
 * What stands here is part of the schema: a change of it raises its version.
 */
const PHRASES: readonly string[] = [
  budgetLines.join(''),
  `"Program ${TOKEN_PROGRAM} `,
  `"Program ${TOKEN_2022_PROGRAM} `,
  `"Program ${MEMO_PROGRAM} `,
  `"Program ${ASSOCIATED_TOKEN_PROGRAM} `,
  `"Program ${SYSTEM_PROGRAM} `,
  `"Program ${SQUADS_PROGRAM} `,
  `"Program ${COMPUTE_BUDGET_PROGRAM} `,
  '"Program log: ',
  '"Program return: ',
  'invoke [1]",',
  'invoke [2]",',
  'invoke [3]",',
  'success",',
  'success"]',
  'consumed ',
  ' compute units",',
  'Instruction: ',
  'Signed by:",',
  'Memo (len ',
];

const CODES = new Map(PHRASES.map((phrase, index) => [phrase, String.fromCharCode(index + 1)]));
const BY_CODE = new Map([...CODES].map(([phrase, code]) => [code, phrase]));

const anyOf = (texts: Iterable<string>): RegExp =>
  new RegExp([...texts].map((text) => text.replace(/[[\](){}.*+?^$|\\]/g, '\\$&')).join('|'), 'g');

// The first that fits is taken: the longer stands before the one that it begins with.
const ANY_PHRASE = anyOf(PHRASES);
const ANY_CODE = anyOf(BY_CODE.keys());

/** The text to keep. */
export const packLogs = (logs: readonly string[]): string =>
  JSON.stringify(logs).replace(ANY_PHRASE, (phrase) => CODES.get(phrase) ?? phrase);

/**
 * The logs of a kept text.
 * @throws `SyntaxError` for a text that was not made by {@link packLogs}.
 */
export const unpackLogs = (text: string): readonly string[] =>
  JSON.parse(text.replace(ANY_CODE, (code) => BY_CODE.get(code) ?? code)) as readonly string[];
