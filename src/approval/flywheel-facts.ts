/** Reads the facts of a project that can change: members and rights of the multisig, rules of token and token account. */

import type { AccountState } from '../chain/account.js';
import type { ChainReader, Flywheel } from '../chain/chain.js';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../chain/programs.js';
import { type Multisig, NO_AUTHORITY, PERMISSION } from '../chain/squads/accounts.js';
import { associatedTokenAddress, vaultAddress } from '../chain/squads/addresses.js';
import {
  decodeMint,
  decodeTokenAccount,
  extensionText,
  type Mint,
  metadataAddress,
  symbolOf,
  type TokenAccount,
} from '../chain/tokens/accounts.js';
import type { Address } from '../values/address.js';
import { ensure, type Facts, type Pins, refuse } from './pins.js';

export interface TokenOnChain {
  readonly mint: Mint;
  readonly vaultAccount: TokenAccount | null;
  readonly flywheel: Flywheel;
  readonly facts: Facts;
  /** From the token's metadata, which anybody may choose. */
  readonly symbol: string | null;
}

const orNone = (key: Address | null): string => key ?? 'none';

const rightsOf = (permissions: number): string =>
  Object.entries(PERMISSION)
    .filter(([, bit]) => (permissions & bit) !== 0)
    .map(([name]) => name)
    .join(', ') || 'no rights';

type MultisigRules = Pick<
  Multisig,
  'threshold' | 'timeLockSeconds' | 'configAuthority' | 'rentCollector' | 'members'
>;

export const multisigFacts = (multisig: MultisigRules): Facts => ({
  threshold: String(multisig.threshold),
  timeLockSeconds: String(multisig.timeLockSeconds),
  configAuthority: multisig.configAuthority === NO_AUTHORITY ? 'none' : multisig.configAuthority,
  rentCollector: orNone(multisig.rentCollector),
  ...Object.fromEntries(
    multisig.members.map(({ key, permissions }) => [`member ${key}`, rightsOf(permissions)]),
  ),
});

const extensionFacts = (where: string, { extensions }: Pick<Mint, 'extensions'>): Facts =>
  Object.fromEntries(extensions.map((extension) => [`${where}.${extension.name}`, extensionText(extension)]));

type MintRules = Pick<Mint, 'tokenProgram' | 'decimals' | 'mintAuthority' | 'freezeAuthority' | 'extensions'>;
type AccountRules = Pick<TokenAccount, 'owner' | 'delegate' | 'closeAuthority' | 'frozen' | 'extensions'>;

const mintFacts = (mint: MintRules): Facts => ({
  'mint.tokenProgram': mint.tokenProgram,
  'mint.decimals': String(mint.decimals),
  'mint.mintAuthority': orNone(mint.mintAuthority),
  'mint.freezeAuthority': orNone(mint.freezeAuthority),
  ...extensionFacts('mint', mint),
});

const vaultAccountFacts = (at: Address, account: AccountRules): Facts => ({
  'vaultAccount.address': at,
  'vaultAccount.owner': account.owner,
  'vaultAccount.delegate': orNone(account.delegate),
  'vaultAccount.closeAuthority': orNone(account.closeAuthority),
  'vaultAccount.state': account.frozen ? 'frozen' : 'initialized',
  ...extensionFacts('vaultAccount', account),
});

export const tokenFacts = (at: Address, mint: MintRules, account: AccountRules | null): Facts => ({
  ...mintFacts(mint),
  ...(account === null ? {} : vaultAccountFacts(at, account)),
});

export function flywheelOf(
  { multisig, owner, operator, vaultIndex, mint }: Omit<Pins, 'facts'>,
  { decimals, tokenProgram }: Pick<Mint, 'decimals' | 'tokenProgram'>,
): Flywheel {
  const vault = vaultAddress(multisig, vaultIndex).address;
  const vaultTokenAccount = associatedTokenAddress(vault, mint, tokenProgram);
  return { multisig, owner, operator, vault, vaultIndex, vaultTokenAccount, mint, decimals, tokenProgram };
}

/** Extensions that do not change the effect of a burn or transfer. Facts about each are pinned all the same. */
const PLAIN_MINT_EXTENSIONS: ReadonlySet<string> = new Set([
  'transferFeeConfig',
  'mintCloseAuthority',
  'confidentialTransferMint',
  'confidentialTransferFeeConfig',
  'defaultAccountState',
  'interestBearingConfig',
  'permanentDelegate',
  'metadataPointer',
  'tokenMetadata',
  'groupPointer',
  'tokenGroup',
  'groupMemberPointer',
  'tokenGroupMember',
  'scaledUiAmount',
]);

/**
 * Refuses a mint whose transfers do something else than the instruction says, or that somebody can stop at will.
 * @throws `ERR_APPROVAL_REFUSED` with the extension.
 */
function requirePlainMint(address: Address, mint: Mint): void {
  for (const { name } of mint.extensions)
    ensure(
      PLAIN_MINT_EXTENSIONS.has(name),
      () => `The mint ${address} has the extension ${name}, so a batch could do more than it shows`,
    );
}

/** Reads all accounts as of one slot. @throws `ERR_APPROVAL_REFUSED` for a wrong or unpredictable mint; `ERR_UNAVAILABLE`. */
export async function readTokenOnChain(
  reader: ChainReader,
  addresses: Omit<Pins, 'facts'>,
): Promise<TokenOnChain> {
  const { multisig, vaultIndex, mint: at } = addresses;
  const vault = vaultAddress(multisig, vaultIndex).address;
  // The mint's token program is unknown before the read.
  const places = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM].map((program) =>
    associatedTokenAddress(vault, at, program),
  );
  const [mintState, metadata, ...accounts] = await reader.getAccounts([at, metadataAddress(at), ...places]);
  const mint = decodeMint(mintState ?? null);
  if (mint === undefined) return refuse(`The account ${at} is not a mint`);
  requirePlainMint(at, mint);
  const flywheel = flywheelOf(addresses, mint);
  const state = accounts[places.indexOf(flywheel.vaultTokenAccount)] ?? null;
  const vaultAccount = readVaultAccount(flywheel, state);
  return {
    mint,
    vaultAccount,
    flywheel,
    facts: tokenFacts(flywheel.vaultTokenAccount, mint, vaultAccount),
    symbol: symbolOf(mint, metadata ?? null),
  };
}

function readVaultAccount(
  { vaultTokenAccount, tokenProgram, mint }: Flywheel,
  state: AccountState | null,
): TokenAccount | null {
  // Anybody can send lamports to an address before its account is created.
  if (state === null || (state.owner === SYSTEM_PROGRAM && state.data.length === 0)) return null;
  const account = decodeTokenAccount(state);
  ensure(
    account !== undefined && account.tokenProgram === tokenProgram && account.mint === mint,
    () => `The vault's account ${vaultTokenAccount} is not a token account of the mint ${mint}`,
  );
  return account;
}
