/**
 * Plans a registration: what it has on chain, addresses, costs, warnings, and what is irreversible. Checks that its multisig needs both
 * owner and operator and gives no one else a right. Only reads.
 */
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import { LAMPORTS_PER_SIGNATURE, type Rent } from '../../chain/account.js';
import type { ChainReader } from '../../chain/chain.js';
import { clusterName } from '../../chain/node-address.js';
import { SQUADS_PROGRAM, TOKEN_2022_PROGRAM } from '../../chain/programs.js';
import {
  ACCOUNT_SIZE,
  ALL_PERMISSIONS,
  decodeAccount,
  type Multisig,
  NO_AUTHORITY,
  PERMISSION,
  PROGRAM_CONFIG,
  type ProgramConfig,
} from '../../chain/squads/accounts.js';
import {
  associatedTokenAddress,
  isOnCurve,
  programConfigAddress,
  vaultAddress,
} from '../../chain/squads/addresses.js';
import {
  chargesTransferFee,
  decodeTokenAccount,
  extensionOf,
  FROZEN,
  type Mint,
  type TokenAccount,
} from '../../chain/tokens/accounts.js';
import type { ClusterRegistration } from '../../contract/admin.js';
import { registeredMultisig, THRESHOLD } from '../../engine/admin/project.js';
import { newTokenAccountBytes } from '../../engine/batches/funds.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { ProjectRecord } from '../../store/records.js';
import type { Address } from '../../values/address.js';
import { parseTokenAmount } from '../../values/token-amount.js';

export interface Places {
  readonly mint: Address;
  readonly owner: Address;
  readonly operator: Address;
  readonly burnWallet: Address;
  readonly multisig: Address;
  readonly vaultIndex: number;
}

export interface StateOnChain {
  readonly multisig: Multisig | null;
  readonly token: TokenOnChain;
  readonly burnTokenAccount: { readonly address: Address; readonly account: TokenAccount | null };
}

const unusable = (message: string): FlywheelError => new FlywheelError('ERR_NOT_VERIFIED', message);

/** Gives a refused approval check the code of a registration. */
const otherwise =
  (code: 'ERR_NOT_VERIFIED' | 'ERR_INPUT_INVALID', before = '') =>
  (cause: unknown): never => {
    if (!isFlywheelError(cause, 'ERR_APPROVAL_REFUSED')) throw cause;
    throw new FlywheelError(code, before + cause.message, { cause });
  };

/** @throws `ERR_INPUT_INVALID` for an unusable mint, `ERR_NOT_VERIFIED` for accounts with another owner */
export async function readState(chain: ChainReader, places: Places): Promise<StateOnChain> {
  const token = await readTokenOnChain(chain, places).catch(otherwise('ERR_INPUT_INVALID', '--mint: '));
  const { tokenProgram } = token.mint;
  const address = associatedTokenAddress(places.burnWallet, places.mint, tokenProgram);
  const [at, state] = await chain.getAccounts([places.multisig, address]);
  // An address with only lamports has no token account yet.
  const held = state?.owner === tokenProgram ? decodeTokenAccount(state) : null;
  if (held !== null && (held?.mint !== places.mint || held.owner !== places.burnWallet))
    throw unusable(`The token account ${address} is not the burn wallet's. Nothing was sent.`);
  if (token.vaultAccount !== null && token.vaultAccount.owner !== token.flywheel.vault)
    throw unusable(
      `The token account ${token.flywheel.vaultTokenAccount} is not the vault's. Nothing was sent.`,
    );
  const multisig =
    at?.owner === SQUADS_PROGRAM
      ? await readMultisigAccount(chain, places.multisig).catch(otherwise('ERR_NOT_VERIFIED'))
      : null;
  return { multisig, token, burnTokenAccount: { address, account: held } };
}

export const isWhole = ({ multisig, token, burnTokenAccount }: StateOnChain): boolean =>
  multisig !== null && token.vaultAccount !== null && burnTokenAccount.account !== null;

/** All facts to pin, as they are or as they will be created. */
export const factsOf = (places: Places, { multisig, token }: StateOnChain) => ({
  ...multisigFacts(multisig ?? registeredMultisig(places)),
  ...token.facts,
});

/** The Squads creation fee and its recipient. @throws `ERR_CHAIN_MISMATCH` if the program is not set up */
export async function readProgramConfig(chain: ChainReader): Promise<ProgramConfig> {
  const { address } = programConfigAddress();
  const [program, account] = await chain.getAccounts([SQUADS_PROGRAM, address]);
  const config = account?.owner === SQUADS_PROGRAM ? decodeAccount(PROGRAM_CONFIG, account.data) : undefined;
  if (program?.executable === true && config !== undefined) return config;
  throw new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    program?.executable === true
      ? `The Squads program of this cluster has no configuration at ${address}.`
      : `This cluster has no Squads program at ${SQUADS_PROGRAM}.`,
  );
}

/** @throws `ERR_NOT_VERIFIED`, naming every problem */
export function requireUsableMultisig(
  address: Address,
  multisig: Multisig,
  { owner, operator }: Pick<Places, 'owner' | 'operator'>,
): void {
  const rightsOf = (key: Address): number =>
    multisig.members.find((member) => member.key === key)?.permissions ?? 0;
  const strangers = multisig.members.filter(({ key }) => key !== owner && key !== operator);
  const missing = [owner, operator].filter((key) => !multisig.members.some((member) => member.key === key));
  const areThere = missing.length === 0;
  const problems = [
    ...missing.map((key) => `${key} is not a member`),
    ...strangers.map(({ key }) => `${key} is a third member`),
    ...(multisig.threshold === THRESHOLD ? [] : [`the threshold is ${multisig.threshold}, expected 2`]),
    ...(areThere && rightsOf(operator) !== ALL_PERMISSIONS
      ? ['the operator lacks the right to initiate, vote or execute']
      : []),
    ...(areThere && (rightsOf(owner) & PERMISSION.vote) === 0 ? ['the owner lacks the right to vote'] : []),
    ...(multisig.configAuthority === NO_AUTHORITY
      ? []
      : [`the config authority ${multisig.configAuthority} alone can change members and rules`]),
  ];
  if (problems.length === 0) return;
  throw new FlywheelError(
    'ERR_NOT_VERIFIED',
    `The multisig ${address} does not fit this project: ${problems.join('; ')}.`,
    {
      hint: 'Nothing was sent. Change the multisig in the Squads app, or leave out --multisig to create a new one.',
    },
  );
}

export function multisigWarnings(
  { rentCollector, timeLockSeconds }: Multisig,
  { operator }: Pick<Places, 'operator'>,
): readonly string[] {
  const lock = `The multisig has a time lock: a batch can be executed ${timeLockSeconds} s after both approvals.`;
  const rent =
    rentCollector === null
      ? 'The multisig has no rent collector, so the rent of a batch does not return to the operator.'
      : `The rent collector of the multisig is ${rentCollector}: the rent of a batch goes there, not back to the operator.`;
  return [...(timeLockSeconds === 0 ? [] : [lock]), ...(rentCollector === operator ? [] : [rent])];
}

interface PlanChain {
  readonly reader: ChainReader;
  readonly genesisHash: string;
  readonly maxPriorityFeeLamports: bigint;
  readonly rentOf: Rent;
}

/**
 * Reads the state, checks it, and computes the missing steps.
 * @returns the plan, with lamports as integer text, and the wallet that receives the Squads fee; `null` if no multisig is created
 * @throws `ERR_INPUT_INVALID`, `ERR_NOT_VERIFIED`, `ERR_CHAIN_MISMATCH`, `ERR_UNAVAILABLE`
 */
export async function planRegistration(
  chain: PlanChain,
  wanted: ClusterRegistration,
  places: Places,
  isFresh: boolean,
) {
  requireMembers(places);
  const state = await readState(chain.reader, places);
  checkCaps(wanted, state.token.mint.decimals);
  const { multisig } = state;
  if (multisig !== null) requireUsableMultisig(places.multisig, multisig, places);
  else if (!isFresh)
    throw new FlywheelError('ERR_NOT_VERIFIED', `No multisig at ${places.multisig} on this cluster.`);
  const config = await readProgramConfig(chain.reader);
  const steps = stepsOf(chain, places, state);
  const made = multisig === null ? config : null;
  const costs = await costsOf(chain, places, steps, made);
  const { token } = state;
  const symbol = wanted.symbol ?? token.symbol ?? 'TOKEN';
  const plan = {
    // The name is `null` for a private cluster.
    cluster: { name: clusterName(chain.genesisHash), genesisHash: chain.genesisHash },
    mint: places.mint,
    name: wanted.name ?? symbol,
    symbol,
    decimals: token.mint.decimals,
    tokenProgram: programName(token.mint),
    owner: places.owner,
    operator: places.operator,
    burnWallet: places.burnWallet,
    multisig: places.multisig,
    vaultIndex: places.vaultIndex,
    vault: vaultAddress(places.multisig, places.vaultIndex).address,
    steps,
    costs,
    facts: factsOf(places, state),
    irreversible: irreversible(steps, multisig),
    warnings: [
      ...(wanted.multisig === null ? [] : [EARLIER_RIGHTS, EARLIER_USE]),
      ...(multisig === null ? [] : multisigWarnings(multisig, places)),
      ...tokenWarnings(state),
    ],
  };
  return { plan, squadsTreasury: made?.treasury ?? null };
}

const programName = ({ tokenProgram }: Mint): ProjectRecord['tokenProgram'] =>
  tokenProgram === TOKEN_2022_PROGRAM ? 'token-2022' : 'token';

function requireMembers({ owner, operator }: Places): void {
  if (owner === operator)
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      '--owner: this is the address of the operator. Owner and operator must be different keys.',
    );
  if (!isOnCurve(owner))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `--owner: ${owner} is the address of a program's account, which has no key.`,
    );
}

/** @throws `ERR_INPUT_INVALID` for a cap that the token's decimals cannot express */
export function checkCaps({ dailyBurn, dailyAirdrop }: ClusterRegistration, decimals: number) {
  const amount = (flag: string, text: string | null): bigint | null => {
    if (text === null) return null;
    if (/^0+(\.0+)?$/.test(text)) return 0n;
    try {
      return parseTokenAmount(text, decimals);
    } catch (cause) {
      if (!isFlywheelError(cause)) throw cause;
      throw new FlywheelError('ERR_INPUT_INVALID', `${flag}: ${cause.message}`, { cause });
    }
  };
  return {
    dailyBurnCap: amount('--daily-burn', dailyBurn),
    dailyAirdropCap: amount('--daily-airdrop', dailyAirdrop),
  };
}

type Step = 'multisig' | 'vaultTokenAccount' | 'burnTokenAccount';

function stepsOf(chain: PlanChain, { multisig }: Places, state: StateOnChain) {
  const { token, burnTokenAccount } = state;
  const accountBytes = newTokenAccountBytes({ tokenProgram: programName(token.mint) }, token.mint);
  const step = (what: Step, address: Address, isThere: boolean, bytes: number) => {
    // No rent is paid for an account that exists.
    const rent = isThere ? 0n : chain.rentOf(bytes);
    return { what, address, isThere, rentLamports: rent.toString() };
  };
  return [
    step('multisig', multisig, state.multisig !== null, ACCOUNT_SIZE.multisig(THRESHOLD)),
    step('vaultTokenAccount', token.flywheel.vaultTokenAccount, token.vaultAccount !== null, accountBytes),
    step('burnTokenAccount', burnTokenAccount.address, burnTokenAccount.account !== null, accountBytes),
  ];
}

async function costsOf(
  chain: PlanChain,
  { operator }: Places,
  steps: ReturnType<typeof stepsOf>,
  made: { readonly treasury: Address; readonly multisigCreationFeeLamports: bigint } | null,
) {
  const rent = steps.reduce((sum, { rentLamports }) => sum + BigInt(rentLamports), 0n);
  const squadsFee = made?.multisigCreationFeeLamports ?? 0n;
  const signatures = made === null ? 1n : 2n;
  const isSent = steps.some(({ isThere }) => !isThere);
  const fee = isSent ? signatures * LAMPORTS_PER_SIGNATURE : 0n;
  const priorityFee = isSent ? chain.maxPriorityFeeLamports : 0n;
  const total = rent + squadsFee + fee + priorityFee;
  const [account] = await chain.reader.getAccounts([operator]);
  const held = account?.lamports ?? 0n;
  // The payer must stay rent-exempt.
  const needed = total === 0n ? 0n : total + chain.rentOf(0);
  return {
    rentLamports: rent.toString(),
    squadsFeeLamports: squadsFee.toString(),
    squadsTreasury: made?.treasury ?? null,
    feeLamports: fee.toString(),
    maxPriorityFeeLamports: priorityFee.toString(),
    totalLamports: total.toString(),
    operatorLamports: held.toString(),
    missingLamports: (held >= needed ? 0n : needed - held).toString(),
  };
}

const irreversible = (steps: ReturnType<typeof stepsOf>, multisig: Multisig | null): readonly string[] => [
  ...(multisig === null
    ? [
        'The multisig cannot be closed: its rent and the Squads fee are spent.',
        "Changing members, threshold or rules needs both keys. If either key is lost, the vault's funds cannot be moved.",
      ]
    : []),
  ...(steps.some(({ what, isThere }) => what !== 'multisig' && !isThere)
    ? ['The rent of the token accounts stays locked until they are closed.']
    : []),
];

/** No account records the earlier rights of a multisig that was created elsewhere. */
const EARLIER_RIGHTS =
  'flywheel did not create this multisig. A spending limit or an approved transaction may let a member take from the vault without another vote. Check both in the Squads app.';

const EARLIER_USE =
  'This project has no record of what the keys of this multisig burned and airdropped before. If there was anything, nothing is sent until you accept it: `flywheel db accept-gap`. Send no file again that another data directory has sent.';

export function tokenWarnings({
  token: { mint, vaultAccount },
  burnTokenAccount,
}: Pick<StateOnChain, 'token' | 'burnTokenAccount'>): readonly string[] {
  const accounts = { vault: vaultAccount, 'burn wallet': burnTokenAccount.account };
  const opensFrozen = extensionOf(mint, 'defaultAccountState')?.[0] === FROZEN;
  return [
    ...(mint.mintAuthority === null ? [] : [`${mint.mintAuthority} can mint more tokens.`]),
    ...(mint.freezeAuthority === null
      ? []
      : [`${mint.freezeAuthority} can freeze the accounts of vault and burn wallet.`]),
    ...(extensionOf(mint, 'permanentDelegate') === undefined
      ? []
      : ['The permanent delegate of the mint can take tokens out of vault and burn wallet.']),
    ...(chargesTransferFee(mint) ? ['The token charges a fee on each transfer.'] : []),
    ...(opensFrozen && Object.values(accounts).includes(null)
      ? ['New token accounts are frozen. They can receive and burn tokens only after they are thawed.']
      : []),
    ...Object.entries(accounts).flatMap(([whose, account]) => [
      ...(account?.frozen === true ? [`The token account of the ${whose} is frozen.`] : []),
      ...(account?.delegate == null
        ? []
        : [`The delegate ${account.delegate} can take tokens out of the ${whose}.`]),
    ]),
  ];
}
