/** Reads what a registration has on chain, and checks that its multisig needs both owner and operator and gives no one else a right. */
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import { SQUADS_PROGRAM } from '../../chain/programs.js';
import {
  ALL_PERMISSIONS,
  decodeAccount,
  type Multisig,
  NO_AUTHORITY,
  PERMISSION,
  PROGRAM_CONFIG,
  type ProgramConfig,
} from '../../chain/squads/accounts.js';
import { associatedTokenAddress, programConfigAddress } from '../../chain/squads/addresses.js';
import { decodeTokenAccount, type TokenAccount } from '../../chain/tokens/accounts.js';
import { registeredMultisig, THRESHOLD } from '../../engine/admin/project.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';

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
