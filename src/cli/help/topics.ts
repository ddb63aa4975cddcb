/** The topics of `flywheel help`: what is not about one command. */
import { ERRORS, type ErrorCode } from '../../errors/codes.js';
import { EXIT_CODES } from '../../errors/exit-codes.js';
import { SETTING_ROWS, type SettingRow, type Use } from '../config/settings-table.js';
import { type Field, fieldLines, indented, wrapText } from '../output/table.js';

/** A part of a topic: prose, which fills the lines, a point of it, a line to be copied, or names with what they mean. */
type Part = string | { readonly point: string } | { readonly line: string } | readonly Field[];

/** Prose is filled to this where nothing narrower shows it. */
const PROSE_WIDTH = 124;
const POINT = '  ';
/** The least room for what a name means beside it; where there is less, it stands below. */
const MEANING_WIDTH = 30;
const BELOW = '    ';

function partLines(part: Part, width: number | null): readonly string[] {
  const room = width ?? PROSE_WIDTH;
  if (typeof part === 'string') return wrapText(part, room);
  if ('point' in part) return indented(POINT, part.point, room);
  if ('line' in part) return [part.line];
  const longest = Math.max(...part.map(([name]) => name.length));
  if (width === null || width - longest >= MEANING_WIDTH)
    return fieldLines(part, { width: width ?? Number.POSITIVE_INFINITY, dim: (text) => text });
  return part.flatMap(([name, text]) => [
    ...(name === '' ? [] : [name.trimEnd()]),
    ...indented(BELOW, text, width),
  ]);
}

/** Headings of the settings, by what a command has to do for them to have an effect. */
const HEADINGS: readonly (readonly [Use, string])[] = [
  ['output', 'Of every command:'],
  ['service', 'Which flywheel, and where it is:'],
  ['request', 'How long a service is waited for:'],
  ['chain', 'How a chain is read and paid:'],
  ['approval', 'What approvals are held against:'],
];

const settingField = ({ flags, variables = [], profile, choices, help, reading }: SettingRow): Field => {
  const [name = '', ...others] = [...(flags === undefined ? [] : [flags]), ...variables];
  const also = [...others, ...(profile === undefined ? [] : [`${profile} of a profile`])];
  const allowed = choices === undefined ? '' : ` (${choices.join(', ')})`;
  const usual = reading?.fallback == null ? '' : ` (default: ${reading.fallback})`;
  return [name, `${help}${allowed}${usual}${also.length === 0 ? '' : ` [${also.join(', ')}]`}`];
};

function settings(): readonly Part[] {
  const rows = Object.values(SETTING_ROWS);
  return [
    'A setting is taken from the option, else the environment, else the profile, else the default; in brackets stands where else than in the first place it may be.',
    '`flywheel whoami` shows each value and where it came from. An option that a command has no use for is refused.',
    ...HEADINGS.flatMap(([use, heading]): readonly Part[] => [
      ...['', heading],
      rows.filter((row) => row.use === use).map(settingField),
    ]),
  ];
}

function exitCodes(): readonly Part[] {
  const codes = Object.entries(ERRORS) as [ErrorCode, (typeof ERRORS)[ErrorCode]][];
  const longest = Math.max(...codes.map(([code]) => code.length));
  return [
    'Each exit number with what it means, and below it what a script should do then:',
    EXIT_CODES.flatMap(({ code, meaning, script }): readonly Field[] => [
      [String(code), meaning],
      ['', `then: ${script}`],
    ]),
    '',
    'Error codes, with the exit number of each:',
    codes.map(
      ([code, { exit, when }]): Field => [`${code.padEnd(longest)}  ${String(exit).padEnd(2)}`, when],
    ),
  ];
}

const FILES: readonly Part[] = [
  'Burns (`burn-batch`): a JSON array, NDJSON with one object a line, or CSV with one row each.',
  {
    line: '  [{ "type": "PRODUCT_BUY", "proof": { "orderId": "A-1001" }, "burnAmount": 12.5, "persistOnchain": true }]',
  },
  '',
  'Pipelines (`batch init`, `batch run`): { "pipelines": [ … ] } or the bare list. A payload is the proof, as JSON text or as an object, which is sent as its canonical text.',
  { line: '  { "pipelines": [ { "type": "WATCH_AD", "payload": { "viewId": 7 }, "actions": [' },
  { line: '      { "action": "BURN", "amount": 5 },' },
  {
    line: '      { "action": "AIRDROP", "toAddress": "FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF", "amount": "2.5" },',
  },
  { line: '      { "action": "MEMO", "message": "thank you" } ] } ] }' },
  '',
  'In both, an amount is a number or a decimal string, in whole tokens. A number that would not be read back as the same decimal is refused, as are duplicate and unknown keys. All problems of a file are reported at once, each with its place; nothing is sent.',
  '',
  'CSV is known by a name in .csv or .tsv, or said by --format csv. Its first line names the columns; commas, semicolons or tabs stand between them. --column amount=Tokens takes a field from a column of another name; other columns are refused.',
  {
    point:
      'burns: type, amount, persistOnchain (true or false; empty: false), and the proof: one column a key, proof.KEY, whose values are text, or one column proof with JSON',
  },
  {
    point:
      'pipelines, one action a row: pipeline (rows of the same one stand together; without this column each row is one), type, payload.KEY or payload, action, amount, toAddress, message; type and payload stand in the first row of a pipeline',
  },
  {
    point: 'amounts are digits and at most one point: no sign, currency, separator of thousands or exponent',
  },
  '',
  '`flywheel schema burns|pipelines|approval` prints the JSON Schema of a file; a pipelines file may name it in "$schema".',
  'Approval file: what `batch init --out` writes. Signed approval: what `batch approve` prints, { "batchId", "signedTx" }.',
  'Keypair file: the 64 bytes as a JSON array (Solana CLI) or base58; refused when others can read it.',
  'Configuration directory: profiles.json and api-keys.json, for you alone. Data directory: ledger.db, store.db, and the keys. Each holds, for what was done through it, journal.db (the operations, so that none happens twice), approvals.db (what was approved, for the limit of a day) and approvals/.',
];

const OUTPUT: readonly Part[] = [
  'Standard output has the result and nothing else; notices, progress and errors are on standard error.',
  '',
  [
    ['--output human', 'words, blocks and tables for people; the default on a terminal'],
    ['--output json', 'one JSON value; the default in a pipe or a file; --json is the same'],
    ['--output ndjson', 'one JSON value a line: of lists each item, of burn-batch each element as it lands'],
    [
      '--output csv',
      'lists and reports for a spreadsheet; a text that would be a formula there is made harmless',
    ],
    ['--quiet', 'no notices and no progress'],
  ],
  '',
  'An error is one line of JSON where the output is JSON, with a code that never changes its meaning:',
  {
    line: '  { "error": "ERR_BATCH_NOT_FOUND", "message", "status"?, "hint"?, "retryAfterSeconds"?, "requestId"?, "idempotencyKey"? }',
  },
  'Fields are added in later versions; none is taken away, and none changes its meaning. In JSON, CSV and NDJSON amounts have no separators, and what is text there is exact.',
  '',
  'Parts of it are taken with jq:',
  { line: "  $ flywheel batch list --json | jq -r '.[].id'" },
  { line: '  $ flywheel burn-batch burns.csv --output ndjson | jq -c \'select(.status == "error")\'' },
];

/** A topic's parts by its name. */
export const TOPICS: Readonly<Record<string, () => readonly Part[]>> = {
  settings,
  'exit-codes': exitCodes,
  files: () => FILES,
  output: () => OUTPUT,
};

/**
 * The text of a topic, or `undefined`.
 * @param width - columns of the terminal that shows it; `null` where none does.
 */
export function topicText(name: string, width: number | null): string | undefined {
  const topic = Object.hasOwn(TOPICS, name) ? TOPICS[name] : undefined;
  if (topic === undefined) return undefined;
  const lines = topic().flatMap((part) => partLines(part, width));
  return `${lines.join('\n')}\n`;
}
