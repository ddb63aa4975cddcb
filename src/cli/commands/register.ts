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
    .requiredOption('--mint <address>', 'the token, of SPL Token or Token-2022')
    .requiredOption('--owner <address>', 'who approves every batch; the key stays where it is')
    .option('--operator-keypair <file>', 'pays, sets up and executes; copied into the data directory')
    .option('--operator <address>', 'the same, where --operator-signer or the environment keeps its key')
    .option('--multisig <address>', 'a multisig of Squads v4 that is there (default: a new one)')
    .option(
      '--burn-wallet <file|address>',
      'the wallet to burn from: a keypair, copied too, or an address whose key --burn-signer or the environment keeps (default: a new one)',
    )
    .option('--vault-index <n>', 'vault of the multisig (default: 0)')
    .option('--name <text>', 'name of the token (default: its symbol)')
    .option('--symbol <text>', 'symbol of the token (default: the one on chain)')
    .addOption(
      new Option('--token-generation <name>', 'v1 has the burn operations (default: v1)').choices([
        'v1',
        'v2',
      ]),
    )
    .option(
      '--proof-type <type>',
      `a proof type; repeat for several (default: ${DEFAULT_PROOF_TYPES.join(' and ')})`,
      collect,
    )
    .addOption(SCOPE_OPTION)
    .option('--daily-burn-cap <n>', 'tokens that may be burned in a UTC day (default: no cap)')
    .option('--daily-airdrop-cap <n>', 'tokens that may be airdropped in a UTC day (default: no cap)')
    .option(
      '--min-operator-sol <n>',
      'SOL that `batch init` leaves the operator with at least (default: 0.1)',
    )
    .option('--max-batch-rent <n>', 'SOL of rent that all waiting batches may take together (default: 5)')
    .option('--dry-run', 'show the plan and its costs; write and send nothing');

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
      'Give --operator-keypair, or --operator for a key that is kept elsewhere.',
    );
  if (operator === undefined) {
    if (session.settings.signers.operator.source === 'flag')
      throw new FlywheelError('ERR_USAGE', '--operator-keypair and --operator-signer exclude each other.');
    return keypairOption(session, '--operator-keypair', file ?? '');
  }
  if (isKept) return addressOption('--operator', operator);
  throw new FlywheelError('ERR_USAGE', '--operator: nobody is named who signs for it.', {
    hint: 'Add --operator-signer, or set FLYWHEEL_OPERATOR_SIGNER or FLYWHEEL_OPERATOR_KEYPAIR.',
  });
}

async function burnWalletOption(session: Session, given: string | undefined): Promise<GivenKey | null> {
  if (given === undefined) return null;
  if (!isAddress(given)) return keypairOption(session, '--burn-wallet', given);
  if (session.settings.signers.burnWallet.value !== null) return given;
  throw new FlywheelError('ERR_USAGE', '--burn-wallet: nobody is named who signs for this address.', {
    hint: 'Add --burn-signer, or set FLYWHEEL_BURN_SIGNER or FLYWHEEL_BURN_KEYPAIR; or give the file of a keypair.',
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
    output.progress.show('Waiting until the registration is final on chain');
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
    'Shows every cost, every address that is known and what cannot be taken back, and asks; with --yes it only shows. What it makes has its address once it is registered: every run makes new keys. Then it makes the multisig of owner and operator, or holds an existing one to the rules, and opens the token accounts of vault and burn wallet, all in one transaction that the operator pays.',
    'Whatever cuts it off, the same command goes on, and nothing is paid twice. One project of a database is registered at a time: another that would have the same mint, name or vault is refused, before it pays if the first is stored or at work. In a directory that is registered it looks at everything once more, and pins what has changed.',
    'From then on commands in this data directory, and serve, work on that cluster, through the nodes of --rpc-url, or the public one. The keys of operator and burn wallet are kept in the data directory, for this user only, unless programs sign for them. --max-priority-fee, --commitment, --operator-signer and --burn-signer are kept with it.',
    'With a database nothing of that is kept: nodes, fees, commitment and programs that sign are settings of each machine (FLYWHEEL_RPC_URL, FLYWHEEL_MAX_PRIORITY_FEE, FLYWHEEL_COMMITMENT, FLYWHEEL_OPERATOR_SIGNER, FLYWHEEL_BURN_SIGNER, or the profile).',
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
