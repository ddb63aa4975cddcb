/** Topics of `flywheel help` that are not about one command: settings, exit codes, files and output. */
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { EXIT_CODES } from '../errors/exit-codes.js';
import type { Use } from './config/command-uses.js';
import { SETTING_ROWS, type SettingName } from './config/settings-table.js';
import { fieldLines, indented, wrapText } from './output/table.js';

type Named = readonly [name: string, meaning: string];

/** Prose that wraps, a point after `- `, an indented line to copy, or names with meanings. */
type Part = string | readonly Named[];

/** Width of prose where no terminal limits it. */
const PROSE_WIDTH = 124;
const POINT = '  ';

function partLines(part: Part, width: number | null): readonly string[] {
  const room = width ?? PROSE_WIDTH;
  if (typeof part === 'string' && part.startsWith('- ')) return indented(POINT, part.slice(2), room);
  if (typeof part === 'string') return part.startsWith(' ') ? [part] : wrapText(part, room);
  return fieldLines(part, { width: width ?? Number.POSITIVE_INFINITY, dim: (text) => text });
}

const HEADINGS: readonly (readonly [Use, string])[] = [
  ['output', 'All commands:'],
  ['service', 'Project and service:'],
  ['request', 'Timeouts and connections:'],
  ['chain', 'Chain:'],
  ['approval', 'Approvals:'],
];

function settingField(setting: SettingName): Named {
  const { flags, variables, isInProfile, choices, help, reading } = SETTING_ROWS[setting];
  const [name = '', ...others] = [...(flags === undefined ? [] : [flags]), ...variables];
  const also = [...others, ...(isInProfile ? [`${setting} of a profile`] : [])];
  const allowed = choices === undefined ? '' : ` (${choices.join(', ')})`;
  const usual = reading?.fallback == null ? '' : ` (default: ${reading.fallback})`;
  return [name, `${help}${allowed}${usual}${also.length === 0 ? '' : ` [${also.join(', ')}]`}`];
}

function settings(): readonly Part[] {
  const names = Object.keys(SETTING_ROWS) as SettingName[];
  return [
    'flywheel takes a setting from the option, else the environment, else the profile, else the default. Brackets show the environment variables and profile fields.',
    '`flywheel whoami` shows each value and its source. A command refuses options that do not apply to it.',
    ...HEADINGS.flatMap(([use, heading]): readonly Part[] => [
      ...['', heading],
      names.filter((name) => SETTING_ROWS[name].use === use).map(settingField),
    ]),
  ];
}

function exitCodes(): readonly Part[] {
  const codes = Object.entries(ERRORS) as [ErrorCode, (typeof ERRORS)[ErrorCode]][];
  const longest = Math.max(...codes.map(([code]) => code.length));
  return [
    'Exit codes, and what a script should do:',
    EXIT_CODES.flatMap(({ code, meaning, script }): readonly Named[] => [
      [String(code), meaning],
      ['', `then: ${script}`],
    ]),
    '',
    'Error codes and their exit codes:',
    codes.map(
      ([code, { exit, when }]): Named => [`${code.padEnd(longest)}  ${String(exit).padEnd(2)}`, when],
    ),
  ];
}

const FILES: readonly Part[] = [
  'Burns (`burn-batch`): a JSON array, NDJSON with one object per line, or CSV with one row per burn.',
  '  [{ "type": "PRODUCT_BUY", "proof": { "orderId": "A-1001" }, "burnAmount": 12.5, "persistOnchain": true }]',
  '',
  'Pipelines (`batch init`, `batch run`): { "pipelines": [ … ] } or the list alone. The payload is the proof: an object, or JSON text.',
  '  { "pipelines": [ { "type": "WATCH_AD", "payload": { "viewId": 7 }, "actions": [',
  '      { "action": "BURN", "amount": 5 },',
  '      { "action": "AIRDROP", "toAddress": "FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF", "amount": "2.5" },',
  '      { "action": "MEMO", "message": "thank you" } ] } ] }',
  '',
  'Amounts are whole tokens, as a number or a decimal string. flywheel refuses numbers that JSON would round, duplicate keys and unknown keys. It lists all problems of a file at once with their places, and sends nothing. The service then checks that the project and the key allow the proof types.',
  '',
  'CSV files end in .csv or .tsv, or need --format csv. The first line names the columns, separated by commas, semicolons or tabs. --column amount=Tokens reads a field from a column with another name. flywheel refuses unknown columns.',
  '- burns: type, amount, persistOnchain (true or false; empty is false), and the proof: a column proof.KEY for each key, with text values, or one column proof with JSON',
  '- pipelines, one action per row: pipeline (consecutive rows with the same value; without this column each row is a pipeline), type, payload.KEY or payload, action, amount, toAddress, message. The first row of a pipeline has type and payload',
  '- amounts have digits and at most one point: no sign, currency, thousands separator or exponent',
  '',
  '`flywheel schema burns|pipelines|approval` prints the JSON Schema of a file; a pipelines file may name it in "$schema".',
  'Approval file: written by `batch init --out`. Signed approval: printed by `batch approve`, { "batchId", "signedTx" }.',
  'Keypair file: 64 bytes as a JSON array (Solana CLI) or base58. Other users must not be able to read it.',
  'Configuration directory: profiles.json and api-keys.json. Data directory: ledger.db, store.db and the keys. Both also have journal.db (operations, so that nothing happens twice, and approvals, for the daily limit) and approvals/. Only you can read them.',
];

const OUTPUT: readonly Part[] = [
  'Standard output has only the result. Notices, progress and errors go to standard error.',
  '',
  [
    ['--output human', 'text and tables, the default on a terminal'],
    ['--output json', 'one JSON value, the default in a pipe; same as --json'],
    ['--output ndjson', 'one JSON value per line: list items, or burns of a burn-batch as they land'],
    ['--output csv', 'lists and reports for a spreadsheet, with formulas escaped'],
    ['--quiet', 'no notices and no progress'],
  ],
  '',
  'With --json or --output json, notices and errors on standard error are lines of JSON too. The meaning of a code never changes:',
  '  { "error": "ERR_BATCH_NOT_FOUND", "message", "status"?, "hint"?, "retryAfterSeconds"?, "requestId"?, "idempotencyKey"? }',
  'Later versions may add fields, but never remove or redefine one. In JSON, CSV and NDJSON amounts have no separators, and amounts in text are exact.',
  '',
  'Select parts with jq:',
  "  $ flywheel batch list --json | jq -r '.[].id'",
  '  $ flywheel burn-batch burns.csv --output ndjson | jq -c \'select(.status == "error")\'',
];

export const TOPICS: Readonly<Record<string, () => readonly Part[]>> = {
  settings,
  'exit-codes': exitCodes,
  files: () => FILES,
  output: () => OUTPUT,
};

/** @param width - columns of the terminal; `null` without one. @returns `undefined` for an unknown topic */
export function topicText(name: string, width: number | null): string | undefined {
  const topic = Object.hasOwn(TOPICS, name) ? TOPICS[name] : undefined;
  if (topic === undefined) return undefined;
  const lines = topic().flatMap((part) => partLines(part, width));
  return `${lines.join('\n')}\n`;
}
