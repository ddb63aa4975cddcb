/** `flywheel register`: a project of a cluster in the data directory, with a mint that is there already. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { GivenKey, RegistrationInput, RegistrationPlan } from '../../contract/registration.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isAddress } from '../../values/address.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { requireConsent, showSubject } from '../consent.js';
import { inputError } from '../input/read-input.js';
import { collect, decimalOption, integerOption, lamportsOption, proofTypes } from '../options/amounts.js';
import { SCOPE_OPTION, scopesOrAll } from '../options/scopes.js';
import { viewRegistered, viewRegistrationPlan } from '../views/register.js';

const DEFAULT_PROOF_TYPES = ['PRODUCT_BUY', 'WATCH_AD'];
const MAX_NAME_LENGTH = 64;
/** What is typed to agree, where the cluster has no name. */
const WORD = 'register';

const configure = (command: Command) =>
  command
    .requiredOption('--cluster <name|url>', 'mainnet, devnet, testnet, localhost, or the URL of an RPC node')
    .requiredOption('--mint <address>', 'mint of the token (SPL Token or Token-2022)')
    .requiredOption('--owner <address>', 'owner, who approves every batch; no key needed')
    .option('--operator-keypair <file>', "operator's keypair; copied into the data directory")
    .option('--operator <address>', 'operator whose key --operator-signer or the environment has')
    .option('--multisig <address>', 'existing Squads v4 multisig (default: a new one)')
    .option(
      '--burn-wallet <file|address>',
      'burn wallet: a keypair file, copied too, or an address with --burn-signer (default: a new one)',
    )
    .option('--vault-index <n>', 'index of the vault (default: 0)')
    .option('--name <text>', 'name of the token (default: its symbol)')
    .option('--symbol <text>', 'symbol of the token (default: the one on chain)')
    .addOption(
      new Option('--token-generation <name>', 'only v1 has the burn operations (default: v1)').choices([
        'v1',
        'v2',
      ]),
    )
    .option(
      '--proof-type <type>',
      `proof type (repeatable; default: ${DEFAULT_PROOF_TYPES.join(' and ')})`,
      collect,
    )
    .addOption(SCOPE_OPTION)
    .option('--daily-burn-cap <n>', 'most tokens to burn per UTC day (default: no cap)')
    .option('--daily-airdrop-cap <n>', 'most tokens to airdrop per UTC day (default: no cap)')
    .option('--min-operator-sol <n>', 'least SOL that `batch init` leaves the operator (default: 0.1)')
    .option('--max-batch-rent <n>', 'most rent in SOL of all waiting batches (default: 5)')
    .option('--dry-run', 'show the plan and its costs; send nothing');

type Options = OptionsOf<typeof configure>;

function addressOption(flag: string, text: string): string {
  if (isAddress(text)) return text;
  throw inputError(flag, 'expected a base58 address of 32 bytes');
}

function textOption(flag: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text.trim() !== '' && text.length <= MAX_NAME_LENGTH) return text;
  throw inputError(flag, `expected 1 to ${MAX_NAME_LENGTH} characters`);
}

async function keypairOption(session: Session, flag: string, file: string): Promise<Uint8Array> {
  const [{ readKeypair }, { typedPath }] = await Promise.all([
    import('../wallet/load-keypair.js'),
    import('../wallet/keypair-source.js'),
  ]);
  return readKeypair(session.context, typedPath(file, flag));
}

async function parse(session: Session, options: Options): Promise<RegistrationInput> {
  const types = proofTypes(options.proofType);
  const settings: Omit<RegistrationInput, 'operator' | 'burnWallet'> = {
    mint: addressOption('--mint', options.mint),
    owner: addressOption('--owner', options.owner),
    multisig: options.multisig === undefined ? null : addressOption('--multisig', options.multisig),
    vaultIndex: integerOption('--vault-index', options.vaultIndex, { least: 0, most: 255, fallback: 0 }),
    name: textOption('--name', options.name),
    symbol: textOption('--symbol', options.symbol),
    tokenGeneration: options.tokenGeneration ?? 'v1',
    proofTypes: types.length === 0 ? DEFAULT_PROOF_TYPES : types,
    scopes: scopesOrAll(options.scope),
    dailyBurn: decimalOption('--daily-burn-cap', options.dailyBurnCap, null),
    dailyAirdrop: decimalOption('--daily-airdrop-cap', options.dailyAirdropCap, null),
    minOperatorSol: lamportsOption('--min-operator-sol', options.minOperatorSol),
    maxBatchRent: lamportsOption('--max-batch-rent', options.maxBatchRent),
  };
  const operator = await operatorOption(session, options);
  const burnWallet = await burnWalletOption(session, options.burnWallet);
  return { ...settings, operator, burnWallet };
}

async function operatorOption(session: Session, options: Options): Promise<GivenKey> {
  const { operator, operatorKeypair: file } = options;
  const isKept = session.settings.signers.operator.value !== null;
  if ((operator === undefined) === (file === undefined))
    throw new FlywheelError(
      'ERR_USAGE',
      'Add --operator-keypair, or --operator for a key that is kept elsewhere.',
    );
  if (operator === undefined) {
    if (session.settings.signers.operator.source === 'flag')
      throw new FlywheelError('ERR_USAGE', '--operator-keypair and --operator-signer cannot be combined.');
    return keypairOption(session, '--operator-keypair', file ?? '');
  }
  if (isKept) return addressOption('--operator', operator);
  throw new FlywheelError('ERR_USAGE', '--operator: no program or key signs for it.', {
    hint: 'Add --operator-signer, or set FLYWHEEL_OPERATOR_SIGNER or FLYWHEEL_OPERATOR_KEYPAIR.',
  });
}

async function burnWalletOption(session: Session, given: string | undefined): Promise<GivenKey | null> {
  if (given === undefined) return null;
  if (!isAddress(given)) return keypairOption(session, '--burn-wallet', given);
  if (session.settings.signers.burnWallet.value !== null) return given;
  throw new FlywheelError('ERR_USAGE', '--burn-wallet: no program or key signs for this address.', {
    hint: 'Add --burn-signer, set FLYWHEEL_BURN_SIGNER or FLYWHEEL_BURN_KEYPAIR, or name a keypair file.',
  });
}

/** Shows the plan, and goes on with the name of the cluster for an answer. */
async function agree(session: Session, plan: RegistrationPlan): Promise<void> {
  const { output, settings } = session;
  showSubject(session, viewRegistrationPlan(plan, output.noticeStyle).join('\n'));
  if (plan.costs.missingLamports !== '0') return;
  const word = plan.cluster.name ?? WORD;
  const what =
    plan.state === 'finished' ? 'pin it as it is now' : plan.state === 'unfinished' ? 'carry on' : 'register';
  if (settings.yes) return;
  await requireConsent(session, `Type ${word} to ${what}`, { typed: word });
}

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const { settings, context, output } = session;
  const input = await parse(session, options);
  const registrar = await context.openRegistrar(settings, options.cluster);
  try {
    const plan = await registrar.plan(input);
    if (options.dryRun === true) {
      output.result({ dryRun: true, ...plan }, (style) => viewRegistrationPlan(plan, style));
      return undefined;
    }
    await agree(session, plan);
    output.progress.show('Waiting for the registration to be finalized');
    const registered = await registrar.perform();
    output.linkTo(registered.cluster.name);
    output.result(registered, (style) => viewRegistered(registered, settings, style));
    return undefined;
  } finally {
    await registrar.close();
  }
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Shows costs, known addresses and what cannot be undone, then asks (not with --yes). Then creates the multisig of owner and operator, or checks an existing one, and opens the token accounts of vault and burn wallet, in one transaction that the operator pays. New addresses are known only after registration: every run makes new keys.',
    'After an interruption, run the same command again: it resumes, and nothing is paid twice. A database registers one project at a time, and refuses one with the mint, name or vault of another. In a registered directory the command checks everything again and pins what has changed.',
    'From then on, commands with this data directory use that cluster, through --rpc-url or a public node. The keys of operator and burn wallet are stored in the data directory, readable by this user only, unless programs sign for them. --max-priority-fee, --commitment, --operator-signer and --burn-signer are stored too.',
    'With a database these are settings of each machine, and are not stored (FLYWHEEL_RPC_URL, FLYWHEEL_MAX_PRIORITY_FEE, FLYWHEEL_COMMITMENT, FLYWHEEL_OPERATOR_SIGNER, FLYWHEEL_BURN_SIGNER, or the profile).',
  ],
  output: [
    '{ "cluster": { "name", "genesisHash" }, "registration": { "mintAddress", "multisig", "vaultAddress", … },',
    '  "apiKey": { "id", "key", "scopes" }|null, "txHash": signature|null }',
    '--dry-run: { "dryRun": true, "cluster", "multisig"|null, "vault"|null, "burnWallet"|null, "steps", "costs", "facts", "irreversible", "warnings", … }',
  ],
  examples: [
    'flywheel register --cluster devnet --mint MINT --owner OWNER --operator-keypair operator.json --dry-run',
    'flywheel register --cluster mainnet --rpc-url https://rpc.example.com --mint MINT --owner OWNER --operator-keypair operator.json --daily-burn-cap 5000',
  ],
});
