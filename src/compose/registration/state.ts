/** What of a registration stands on chain already. */
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import { SQUADS_PROGRAM } from '../../chain/programs.js';
import {
  decodeAccount,
  type Multisig,
  PROGRAM_CONFIG,
  type ProgramConfig,
} from '../../chain/squads/accounts.js';
import { associatedTokenAddress, programConfigAddress } from '../../chain/squads/addresses.js';
import { decodeTokenAccount, type TokenAccount } from '../../chain/tokens/accounts.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';

/** The addresses of a registration. */
export interface Places {
  readonly mint: Address;
  readonly owner: Address;
  readonly operator: Address;
  readonly burnWallet: Address;
  readonly multisig: Address;
  readonly vaultIndex: number;
}

/** What is there. */
export interface StateOnChain {
  /** `null`: there is none at its address yet. */
  readonly multisig: Multisig | null;
  readonly token: TokenOnChain;
  readonly burnTokenAccount: {
    readonly address: Address;
    readonly isThere: boolean;
    /** `null`: there is none yet. */
    readonly account: TokenAccount | null;
  };
}

/** Is all there that has to be? */
export const isWhole = ({ multisig, token, burnTokenAccount }: StateOnChain): boolean =>
  multisig !== null && token.vaultAccount !== null && burnTokenAccount.isThere;

/** @throws `ERR_INPUT_INVALID` for a mint that cannot be used; `ERR_NOT_VERIFIED` for accounts that are of others. */
export async function readState(chain: ChainReader, places: Places): Promise<StateOnChain> {
  const token = await readToken(chain, places);
  const { tokenProgram } = token.mint;
  const address = associatedTokenAddress(places.burnWallet, places.mint, tokenProgram);
  const [at, state] = await chain.getAccounts([places.multisig, address]);
  const held = decodeTokenAccount(state ?? null);
  const isOwn = held !== undefined && held.mint === places.mint && held.owner === places.burnWallet;
  // Lamports that somebody sent to an address are no account yet.
  const isThere = state != null && state.owner === tokenProgram;
  if (isThere && !isOwn) throw ofOthers(`The token account ${address} is not the burn wallet's`);
  if (token.vaultAccount !== null && token.vaultAccount.owner !== token.flywheel.vault)
    throw ofOthers(`The token account ${token.flywheel.vaultTokenAccount} is not the vault's`);
  const multisig = at?.owner === SQUADS_PROGRAM ? await readOwnMultisig(chain, places.multisig) : null;
  return {
    multisig,
    token,
    burnTokenAccount: { address, isThere, account: isThere ? (held ?? null) : null },
  };
}

/** @throws `ERR_NOT_VERIFIED` when the account is no multisig. */
async function readOwnMultisig(chain: ChainReader, address: Address): Promise<Multisig> {
  try {
    return await readMultisigAccount(chain, address);
  } catch (cause) {
    if (!isFlywheelError(cause, 'ERR_APPROVAL_REFUSED')) throw cause;
    throw new FlywheelError('ERR_NOT_VERIFIED', cause.message, { cause });
  }
}

const ofOthers = (message: string): FlywheelError =>
  new FlywheelError('ERR_NOT_VERIFIED', `${message}. Nothing was sent.`);

async function readToken(chain: ChainReader, places: Places): Promise<TokenOnChain> {
  try {
    return await readTokenOnChain(chain, places);
  } catch (cause) {
    if (!isFlywheelError(cause, 'ERR_APPROVAL_REFUSED')) throw cause;
    throw new FlywheelError('ERR_INPUT_INVALID', `--mint: ${cause.message}`, { cause });
  }
}

/** Everything that is worth pinning. */
export const factsOf = (multisig: Parameters<typeof multisigFacts>[0], { facts }: TokenOnChain) => ({
  ...multisigFacts(multisig),
  ...facts,
});

/** What Squads asks for a multisig, and who gets it. @throws `ERR_CHAIN_MISMATCH` where the program is not set up. */
export async function readProgramConfig(chain: ChainReader): Promise<ProgramConfig> {
  const { address } = programConfigAddress();
  const [program, account] = await chain.getAccounts([SQUADS_PROGRAM, address]);
  if (program?.executable !== true)
    throw new FlywheelError('ERR_CHAIN_MISMATCH', `This cluster has no Squads program at ${SQUADS_PROGRAM}.`);
  const config = account?.owner === SQUADS_PROGRAM ? decodeAccount(PROGRAM_CONFIG, account.data) : undefined;
  if (config !== undefined) return config;
  throw new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    `The Squads program of this cluster has no configuration at ${address}.`,
  );
}
