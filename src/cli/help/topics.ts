/** The topics of `flywheel help`: what is not about one command. */
import { ERRORS, type ErrorCode } from '../../errors/codes.js';
import { EXIT_CODES } from '../../errors/exit-codes.js';
import { type Field, fieldLines, indented, wrapText } from '../output/table.js';

/** Variables that are read, with what they do. */
export const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['FLYWHEEL_API_KEY', 'the API key; wins over the profile and over the key of the data directory'],
  ['FLYWHEEL_API_URL', 'address of a remote API; without it the embedded engine is used'],
  ['FLYWHEEL_PROFILE', 'name of the profile to use'],
  ['FLYWHEEL_KEYPAIR', "the owner's keypair: a file, or the key itself"],
  [
    'FLYWHEEL_OPERATOR_KEYPAIR, FLYWHEEL_BURN_KEYPAIR',
    'the keypair of the operator and of the burn wallet, for the embedded engine: a file, or the key itself',
  ],
  [
    'FLYWHEEL_OPERATOR_SIGNER, FLYWHEEL_BURN_SIGNER',
    'program that signs for them: --operator-signer and --burn-signer',
  ],
  [
    'FLYWHEEL_KEY_PASSPHRASE_FILE',
    'file with the passphrase of an encrypted keypair, also /dev/fd/N; without it the terminal is asked',
  ],
  ['FLYWHEEL_CONFIG_DIR', 'where profiles and their keys are kept'],
  ['FLYWHEEL_DATA_DIR', 'where the embedded engine keeps its state'],
  [
    'FLYWHEEL_DATABASE_URL',
    'PostgreSQL database that holds the flywheels: postgres://user:password@host/name',
  ],
  ['FLYWHEEL_DATABASE_URL_FILE', 'file with that address; DATABASE_URL is taken last'],
  ['FLYWHEEL_DATABASE_POOL', 'connections to it that a process takes at most, 4 or more (default: 10)'],
  ['FLYWHEEL_PROJECT', 'which flywheel of the database'],
  [
    'FLYWHEEL_RPC_URL',
    'RPC nodes of your own, between commas: for a flywheel on a cluster, and to check approvals in remote use',
  ],
  ['FLYWHEEL_RPC_QUORUM', 'how many of the RPC nodes have to agree'],
  [
    'FLYWHEEL_MAX_PRIORITY_FEE',
    'lamports that a transaction on a cluster pays beyond its signatures at most',
  ],
  ['FLYWHEEL_COMMITMENT', 'when a transaction on a cluster counts as landed: confirmed or finalized'],
  ['FLYWHEEL_METRICS_TOKEN', 'bearer token that opens /metrics of `serve` to others than this machine'],
  ['FLYWHEEL_DEBUG', '1 prints stack traces with errors'],
  ['FLYWHEEL_ACCESSIBLE', '1 is --accessible: sentences in ASCII only, no spinner, no bars'],
  ['NO_COLOR', 'no colour, whatever else is set'],
  ['FORCE_COLOR, CLICOLOR_FORCE', 'colour although it is not a terminal'],
  [
    'HTTPS_PROXY, NO_PROXY',
    'proxy for the remote API: http://[user:password@]host:port, and hosts that need none',
  ],
  ['NODE_EXTRA_CA_CERTS', 'file of authorities (PEM) that are trusted besides the built-in ones'],
];

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

const environment: readonly Part[] = [
  'A setting is taken from the flag, else the environment, else the profile, else the default.',
  '`flywheel whoami` shows each value and where it came from.',
  '',
  ENVIRONMENT,
];

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
  'In both, an amount is a number or a decimal string, in whole tokens. A number that would not be read back as the same decimal is refused, as are duplicate and unknown keys. All problems of a file are reported at once, each with its line and column; nothing is sent.',
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
  'Keypair file: the 64 bytes as a JSON array (Solana CLI) or base58, or what `wallet encrypt` writes; refused when others can read it.',
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
  environment: () => environment,
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
