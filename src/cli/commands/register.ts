/** `flywheel register` creates a project on a cluster for an existing mint; `local init` creates one on this machine without questions. */
import { resolve } from 'node:path';
import { type Command, Option } from '@commander-js/extra-typings';
import type { RegistrationPlan, RegistrationResult } from '../../compose/registration/registrar.js';
import type { Settings } from '../../compose/settings.js';
import type { GivenKey, LocalInitInput, RegistrationInput } from '../../contract/admin.js';
import { usageError } from '../../errors/flywheel-error.js';
import { typedPath } from '../../files/keypair-file.js';
import { isAddress } from '../../values/address.js';
import { grouped, plainSymbol } from '../../values/token-amount.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { requireConsent, showSubject } from '../consent.js';
import type { Answer } from '../context.js';
import { inputError, readInputBytes } from '../input/read-input.js';
import { keypairPath, loadKeypair, readKeypair } from '../load-keypair.js';
import { commandLine } from '../operation/resume-line.js';
import {
  addressOption,
  decimal,
  integer,
  lamports,
  proofTypes,
  SCOPE_OPTION,
  scopesOrAll,
} from '../options.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, wrapText } from '../output/table.js';
import {
  clusterText,
  keptKey,
  multisigFields,
  registrationFields,
  tokenFields,
  viewKeptKey,
} from '../views/project.js';
import { linkField, solText, tokensText } from '../views/unit.js';

const MAX_NAME_LENGTH = 64;
/** The word to type if the cluster has no name. */
const WORD = 'register';

const DEFAULT_PROOF_TYPES = ['PRODUCT_BUY', 'WATCH_AD'];

const projectOptions = <Args extends unknown[], Options extends Record<string, unknown>>(
  command: Command<Args, Options>,
) =>
  command
    .addOption(
      new Option('--token-generation <name>', 'generation of the token; single burns need v1')
        .choices(['v1', 'v2'] as const)
        .default('v1', 'v1'),
    )
    .addOption(
      proofTypes(
        '--proof-type <type>',
        `proof type (repeatable; default: ${DEFAULT_PROOF_TYPES.join(' and ')})`,
      ),
    )
    .addOption(SCOPE_OPTION)
    .addOption(decimal('--daily-burn <n>', 'maximum tokens to burn per UTC day (default: no cap)'))
    .addOption(decimal('--daily-airdrop <n>', 'maximum tokens to airdrop per UTC day (default: no cap)'))
    .addOption(
      lamports('--min-operator-sol <n>', 'minimum SOL that `batch init` leaves the operator (default: 0.1)'),
    )
    .addOption(lamports('--max-batch-rent <n>', 'maximum rent in SOL of all waiting batches (default: 5)'));

const registerOptions = (command: Command) =>
  projectOptions(
    command
      .requiredOption(
        '--cluster <name|url>',
        'mainnet, devnet, testnet, localhost, or the URL of an RPC node',
      )
      .requiredOption('--mint <address>', 'mint of the token (SPL Token or Token-2022)')
      .requiredOption('--owner <address>', 'address of the owner, who approves every batch')
      .option('--operator-keypair <file>', "operator's keypair, copied into the data directory")
      .option('--operator <address>', "operator's address; its key is used through --operator-signer")
      .option('--multisig <address>', 'existing Squads v4 multisig (default: a new one)')
      .option(
        '--burn-wallet <file|address>',
        'burn wallet: a keypair file, which is copied, or an address with --burn-signer (default: a new one)',
      )
      .addOption(integer('--vault-index <n>', 'index of the vault', 0, 255).default(0))
      .option('--name <text>', 'name of the token (default: its symbol)')
      .option('--symbol <text>', 'symbol of the token (default: the one on chain)')
      .option('--dry-run', 'show the plan and its costs, send nothing'),
  );

type RegisterOptions = OptionsOf<typeof registerOptions>;

const projectTerms = ({
  proofType = DEFAULT_PROOF_TYPES,
  scope,
  ...options
}: Pick<
  RegisterOptions,
  'proofType' | 'scope' | 'tokenGeneration' | 'minOperatorSol' | 'maxBatchRent' | 'dailyBurn' | 'dailyAirdrop'
>) => ({
  dailyBurn: options.dailyBurn ?? null,
  dailyAirdrop: options.dailyAirdrop ?? null,
  tokenGeneration: options.tokenGeneration,
  proofTypes: proofType,
  scopes: scopesOrAll(scope),
  minOperatorSol: options.minOperatorSol,
  maxBatchRent: options.maxBatchRent,
});

function textOption(flag: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text.trim() !== '' && text.length <= MAX_NAME_LENGTH) return text;
  throw inputError(flag, `expected 1 to ${MAX_NAME_LENGTH} characters`);
}

/** A keypair file, or an address for which a program or a key of the settings signs. */
async function keyOption(
  { context, settings }: Session,
  flag: string,
  given: string,
  role: 'operator' | 'burnWallet',
): Promise<GivenKey> {
  if (!isAddress(given)) return readKeypair(context, typedPath(given, flag));
  if (settings.signers[role].value !== null) return given;
  const name = role === 'operator' ? 'operator' : 'burn';
  const variable = `FLYWHEEL_${name.toUpperCase()}`;
  throw usageError(
    `${flag}: no program or key signs for this address.`,
    `Add --${name}-signer, or set ${variable}_SIGNER or ${variable}_KEYPAIR. Or name a keypair file.`,
  );
}

async function parse(session: Session, options: RegisterOptions): Promise<RegistrationInput> {
  const terms = {
    mint: addressOption('--mint', options.mint),
    owner: addressOption('--owner', options.owner),
    multisig: options.multisig === undefined ? null : addressOption('--multisig', options.multisig),
    vaultIndex: options.vaultIndex,
    name: textOption('--name', options.name),
    symbol: textOption('--symbol', options.symbol),
    ...projectTerms(options),
  };
  const { burnWallet } = options;
  return {
    ...terms,
    operator: await operatorOption(session, options),
    burnWallet:
      burnWallet === undefined ? null : await keyOption(session, '--burn-wallet', burnWallet, 'burnWallet'),
  };
}

async function operatorOption(session: Session, options: RegisterOptions): Promise<GivenKey> {
  const { operator, operatorKeypair: file } = options;
  if ((operator === undefined) === (file === undefined))
    throw usageError('Add --operator-keypair, or --operator for a key that is kept elsewhere.');
  if (file === undefined)
    return keyOption(session, '--operator', addressOption('--operator', operator ?? ''), 'operator');
  if (session.settings.signers.operator.source === 'flag')
    throw usageError('--operator-keypair and --operator-signer cannot be combined.');
  return readKeypair(session.context, typedPath(file, '--operator-keypair'));
}

async function askFor(session: Session, plan: RegistrationPlan): Promise<void> {
  showSubject(session, viewRegistrationPlan(plan, session.output.noticeStyle).join('\n'));
  if (plan.costs.missingLamports !== '0') return;
  const word = plan.cluster.name ?? WORD;
  const what = { new: 'register', unfinished: 'resume', finished: 'pin the project as it is now' }[
    plan.state
  ];
  await requireConsent(session, `Type ${word} to ${what}`, { typed: word, otherwise: 'Nothing was sent.' });
}

const STEP_NAMES: Readonly<Record<RegistrationPlan['steps'][number]['what'], string>> = {
  multisig: 'multisig',
  vaultTokenAccount: 'token account of the vault',
  burnTokenAccount: 'token account of the burn wallet',
};

const LATER = 'new; its address is known after registration';

const stepFields = ({ steps }: RegistrationPlan): readonly Field[] =>
  steps.flatMap(({ what, address, isThere, rentLamports }): readonly Field[] => [
    [STEP_NAMES[what], address ?? LATER],
    ['', isThere ? 'exists' : `to be created, rent ${solText(rentLamports)}`],
  ]);

const costFields = ({ costs }: RegistrationPlan): readonly Field[] => [
  ['rent', solText(costs.rentLamports)],
  ['Squads fee', costs.squadsTreasury && solText(costs.squadsFeeLamports)],
  ['  goes to', costs.squadsTreasury],
  ['transaction fees', solText(costs.feeLamports)],
  [
    'priority fee',
    costs.maxPriorityFeeLamports === '0' ? null : `at most ${solText(costs.maxPriorityFeeLamports)}`,
  ],
  ['together', `at most ${solText(costs.totalLamports)}`],
  ['operator holds', solText(costs.operatorLamports)],
  ['still needed', costs.missingLamports === '0' ? null : solText(costs.missingLamports)],
];

const bullets = (texts: readonly string[], width: number): readonly string[] =>
  texts.flatMap((text) =>
    wrapText(text, Math.max(20, width - 2)).map((line, at) => `${at === 0 ? '- ' : '  '}${line}`),
  );

const part = (title: string, lines: readonly string[], style: Style): readonly string[] =>
  lines.length === 0 ? [] : ['', style.bold(title), ...lines];

const viewRegistrationPlan = (plan: RegistrationPlan, style: Style): readonly string[] => [
  style.bold(`Registration of ${plan.symbol} on ${clusterText(plan.cluster)}`),
  ...fieldLines(
    [
      ['owner', plan.owner],
      ['operator', `${plan.operator} (pays)`],
      ['burn wallet', plan.burnWallet ?? LATER],
      ['multisig', plan.multisig ?? LATER],
      [`vault ${plan.vaultIndex}`, plan.vault ?? LATER],
    ],
    style,
  ),
  ...part('On chain', fieldLines(stepFields(plan), style), style),
  ...part('Costs', fieldLines(costFields(plan), style), style),
  ...part(
    'Members, rules and token',
    fieldLines([...multisigFields(plan.facts), ...tokenFields(plan.mint, plan.facts)], style),
    style,
  ),
  ...part('Cannot be undone', bullets(plan.irreversible, style.width), style),
  ...part(
    'Warnings',
    bullets(plan.warnings, style.width).map((line) => style.warn(line)),
    style,
  ),
];

type Registered = Omit<RegistrationResult, 'apiKey'> & {
  readonly apiKey: ReturnType<typeof keptKey> | null;
};

const viewRegistered = (
  { cluster, registration, apiKey, txHash }: Registered,
  settings: Settings,
  style: Style,
): readonly string[] => [
  style.good(`${registration.symbol} is registered on ${clusterText(cluster)}.`),
  ...fieldLines(
    [
      ...registrationFields({ ...registration, owner: { address: registration.owner, keypair: null } }),
      linkField(style, 'address', registration.multisig),
      ['transaction', txHash],
      linkField(style, 'tx', txHash ?? undefined),
    ],
    style,
  ),
  ...(apiKey === null ? [] : ['', ...viewKeptKey(apiKey, settings, style)]),
  '',
  ...wrapText('Commands with this data directory now use that cluster.', style.width),
  ...wrapText(
    'Next: send tokens and SOL to the burn wallet and to the vault. Check what has arrived:',
    style.width,
  ),
  `  ${commandLine(settings, 'vault')}`,
];

/** What only a first registration stores. */
const FIRST_ONLY = {
  dailyBurn: '--daily-burn',
  dailyAirdrop: '--daily-airdrop',
  scope: '--scope',
  proofType: '--proof-type',
  name: '--name',
  symbol: '--symbol',
} as const satisfies Partial<Record<keyof RegisterOptions, string>>;

function warnOfUnused({ settings, output }: Session, options: RegisterOptions): void {
  const unused = Object.entries(FIRST_ONLY).flatMap(([name, flag]) =>
    options[name as keyof typeof FIRST_ONLY] === undefined ? [] : flag,
  );
  if (unused.length === 0) return;
  output.warn(
    `The project is registered already, and ${unused.join(', ')} ${unused.length === 1 ? 'is' : 'are'} not applied. To change caps: \`${commandLine(settings, 'caps')}\`. To limit keys: \`${commandLine(settings, 'keys', 'create')}\`.`,
  );
}

async function register(
  session: Session,
  _args: [],
  options: RegisterOptions,
): Promise<Registered | (RegistrationPlan & { readonly dryRun: true })> {
  const { settings, context, output } = session;
  const input = await parse(session, options);
  const agree = async (plan: RegistrationPlan): Promise<boolean> => {
    if (plan.state === 'finished') warnOfUnused(session, options);
    if (options.dryRun === true) return false;
    await askFor(session, plan);
    output.progress.show('Waiting for the registration to be finalized');
    return true;
  };
  const done = await context.register(settings, options.cluster, { input, agree });
  output.linkTo(done.cluster.name);
  if (!('registration' in done)) return { dryRun: true, ...done };
  const { apiKey, project } = done;
  return { ...done, apiKey: apiKey && keptKey(apiKey, settings, project) };
}

const amount = <const Usage extends string>(flags: Usage, help: string, usual: string) =>
  decimal(flags, help).default(usual, usual);

const initOptions = (command: Command) =>
  projectOptions(
    command
      .addOption(new Option('--name <text>', 'name of the token').default('Flywheel', 'Flywheel'))
      .addOption(new Option('--symbol <text>', 'symbol of the token, one word').default('FLY', 'FLY'))
      .addOption(integer('--decimals <n>', 'decimals of the mint', 0, 18).default(6))
      .addOption(amount('--supply <n>', 'tokens to mint', '1000000000'))
      .addOption(
        new Option('--token-program <name>', 'program of the mint')
          .choices(['token', 'token-2022'])
          .default('token', 'token'),
      )
      .addOption(amount('--vault-tokens <n>', 'tokens for the vault', '1000000'))
      .addOption(amount('--vault-sol <n>', 'SOL for the vault', '10'))
      .addOption(amount('--burn-wallet-tokens <n>', 'tokens for the burn wallet', '1000000'))
      .addOption(amount('--burn-wallet-sol <n>', 'SOL for the burn wallet', '10'))
      .option(
        '--owner-keypair <file>',
        'keypair file of the owner (default: a new one in the data directory)',
      )
      .option('--squads-program <file>', 'run this Squads program instead of the native implementation'),
  );

async function initInput(
  session: Session,
  { ownerKeypair, squadsProgram, ...options }: OptionsOf<typeof initOptions>,
): Promise<LocalInitInput> {
  const { context } = session;
  // Checks only that the file is readable; its checksum is checked when it is loaded.
  if (squadsProgram !== undefined) await readInputBytes(context, squadsProgram);
  const owner =
    ownerKeypair === undefined
      ? null
      : await loadKeypair(context, typedPath(ownerKeypair, '--owner-keypair'));
  const { proofType: _, scope: __, ...amounts } = options;
  textOption('--name', options.name);
  if (plainSymbol(options.symbol) === null)
    throw inputError('--symbol', 'expected one word of at most 16 letters and digits, such as MINE');
  return {
    ...amounts,
    ...projectTerms(options),
    owner: owner && { address: owner.address, keypair: keypairPath(context, ownerKeypair ?? '') },
    squadsProgram: squadsProgram === undefined ? null : resolve(context.cwd, squadsProgram),
  };
}

const viewInit = (
  value: Omit<Answer<'init'>, 'apiKey'> & { readonly apiKey: ReturnType<typeof keptKey> },
  input: LocalInitInput,
  settings: Settings,
  style: Style,
): readonly string[] => [
  style.good('The project is ready.'),
  ...fieldLines(
    [
      ...registrationFields(value),
      ['in vault', `${tokensText(input.vaultTokens, input.symbol)}, ${grouped(input.vaultSol)} SOL`],
      [
        'in burn wallet',
        `${tokensText(input.burnWalletTokens, input.symbol)}, ${grouped(input.burnWalletSol)} SOL`,
      ],
    ],
    style,
  ),
  '',
  ...viewKeptKey(value.apiKey, settings, style),
  '',
  'Next:',
  `  ${commandLine(settings, 'local', 'export-owner', 'owner.json')}`,
  `  ${commandLine(settings, 'batch', 'run', 'pipelines.json', '--keypair', 'owner.json')}`,
];

export const commands = {
  register: defineCommand({
    configure: registerOptions,
    run: register,
    view: (value, style, { settings }) =>
      'dryRun' in value ? viewRegistrationPlan(value, style) : viewRegistered(value, settings, style),
    details: [
      'Shows costs, addresses and what cannot be undone, then asks. Then creates the multisig of owner and operator, or checks an existing one, and opens the token accounts of vault and burn wallet, in one transaction that the operator pays. New addresses are known only after registration, because every run makes new keys.',
      'After an interruption, run the same command again: it resumes, and nothing is paid twice. In a registered directory, the command checks everything again and pins what has changed. In a database, each project needs its own mint, name and vault.',
      'Later commands with this data directory use that cluster, through --rpc-url or a public node. The data directory stores the keys of operator and burn wallet, readable by this user only, unless programs sign for them. It also stores --max-priority-fee, --commitment, --operator-signer and --burn-signer.',
      'With a database they are not stored: set FLYWHEEL_RPC_URL, FLYWHEEL_MAX_PRIORITY_FEE, FLYWHEEL_COMMITMENT, FLYWHEEL_OPERATOR_SIGNER and FLYWHEEL_BURN_SIGNER on each machine, or use a profile.',
    ],
    output: [
      '{ "cluster": { "name", "genesisHash" }, "registration": { "mintAddress", "multisig", "vaultAddress", … },',
      '  "apiKey": { "id", "name", "key", "scopes", "file" }|null, "txHash": signature|null }',
      '--dry-run: { "dryRun": true, "cluster", "multisig"|null, "vault"|null, "burnWallet"|null, "steps", "costs", "facts", "irreversible", "warnings", … }',
    ],
    examples: [
      'flywheel register --cluster devnet --mint MINT --owner OWNER --operator-keypair operator.json --dry-run',
      'flywheel register --cluster mainnet --rpc-url https://rpc.example.com --mint MINT --owner OWNER --operator-keypair operator.json --daily-burn 5000',
    ],
  }),
  init: defineCommand({
    configure: initOptions,
    run: async (session, _args, options) => {
      const { settings, output } = session;
      const input = await initInput(session, options);
      const made = await (await session.local()).init(input);
      const value = { ...made, apiKey: keptKey(made.apiKey, settings) };
      output.result(value, (style) => viewInit(value, input, settings, style));
    },
    output: [
      '{ "tokenId", "mintAddress", "decimals", "tokenProgram", "flywheelId", "multisig", "vaultIndex", "vaultAddress",',
      '  "burnWallet", "owner": { "address", "keypair" }, "operator", "apiKey": { "id", "name", "key", "scopes", "file" },',
      '  "proofTypes", "dailyLimits": { "burn", "airdrop" } }',
    ],
    examples: [
      'flywheel local init',
      'flywheel local init --name "My Token" --symbol MY --decimals 9 --daily-burn 5000 --owner-keypair ~/.config/solana/id.json',
    ],
  }),
};
