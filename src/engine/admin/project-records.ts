/** The records of a project: how they follow from what was registered, how they are stored, and how the command line shows them. */
import { tokenProgramAddress } from '../../chain/programs.js';
import { ALL_PERMISSIONS, NO_AUTHORITY } from '../../chain/squads/accounts.js';
import { associatedTokenAddress, vaultAddress } from '../../chain/squads/addresses.js';
import type { ApiKeyCreated, Registration } from '../../contract/admin.js';
import type { FlywheelRecord, TokenRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Scope } from '../../values/key-terms.js';
import { isoTime } from '../../values/time.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { EngineDeps } from '../deps.js';
import { recordAct } from './audit.js';
import type { FoundRegistration } from './find-registration.js';
import { insertKey } from './keys.js';

/** Owner and operator must both approve. */
export const THRESHOLD = 2;

/** What the records of a project follow from. */
type ProjectSource = Omit<TokenRecord, 'id' | 'burnTokenAccount' | 'dateCreated'> &
  Omit<FlywheelRecord, 'id' | 'tokenId' | 'vault' | 'vaultTokenAccount' | 'name' | 'dateCapsLowered'> & {
    /** In a database; a data directory has one project, without a name. */
    readonly projectName: string | null;
    readonly nowMs: number;
  };

export function projectRecords(
  { ids }: Pick<EngineDeps, 'ids'>,
  { projectName, nowMs, ...source }: ProjectSource,
): FoundRegistration {
  const { name, symbol, mintAddress, decimals, tokenProgram, generation, supply, burnWallet, ...own } =
    source;
  const program = tokenProgramAddress(tokenProgram);
  const vault = vaultAddress(own.multisig, own.vaultIndex).address;
  const token: TokenRecord = {
    ...{ id: ids.uuid(), name, symbol, mintAddress, decimals, tokenProgram, generation, supply, burnWallet },
    burnTokenAccount: associatedTokenAddress(burnWallet, mintAddress, program),
    dateCreated: isoTime(nowMs),
  };
  const flywheel: FlywheelRecord = {
    ...{ ...own, id: ids.uuid(), tokenId: token.id, vault, name: projectName, dateCapsLowered: null },
    vaultTokenAccount: associatedTokenAddress(vault, mintAddress, program),
  };
  return { token, flywheel };
}

/** Of the key that comes with a registration. */
const FIRST_KEY_NAME = 'first key';

/** The key that comes with a registration. */
export const insertFirstKey = (
  deps: Pick<EngineDeps, 'ids'>,
  tx: StoreTransaction,
  tokenId: string,
  scopes: readonly Scope[],
): Promise<ApiKeyCreated> => insertKey(deps, tx, tokenId, { name: FIRST_KEY_NAME, scopes, proofTypes: null });

/** Stores a project with its first key. */
export async function insertProject(
  deps: Pick<EngineDeps, 'ids' | 'actor'>,
  tx: StoreTransaction,
  { token, flywheel }: FoundRegistration,
  scopes: readonly Scope[],
): Promise<{ readonly registration: Registration; readonly apiKey: ApiKeyCreated }> {
  await tx.tokens.insert(token);
  await tx.flywheels.insert(flywheel);
  const apiKey = await insertFirstKey(deps, tx, token.id, scopes);
  const detail = { mintAddress: token.mintAddress, keyId: apiKey.id };
  await recordAct(deps, tx, { tokenId: token.id, action: 'register', subject: token.id, detail });
  return { registration: registrationView(token, flywheel), apiKey };
}

/** Who may do what in a multisig that is made here. */
export const registeredMultisig = ({ owner, operator }: Pick<FlywheelRecord, 'owner' | 'operator'>) => ({
  configAuthority: NO_AUTHORITY,
  threshold: THRESHOLD,
  members: [owner, operator].map((key) => ({ key, permissions: ALL_PERMISSIONS })),
  timeLockSeconds: 0,
  rentCollector: operator,
});

export function registrationView(token: TokenRecord, flywheel: FlywheelRecord): Registration {
  const cap = (amount: bigint | null): string | null =>
    amount === null ? null : formatTokenAmount(amount, token.decimals);
  return {
    tokenId: token.id,
    name: token.name,
    symbol: token.symbol,
    mintAddress: token.mintAddress,
    decimals: token.decimals,
    tokenProgram: token.tokenProgram,
    tokenGeneration: token.generation,
    flywheelId: flywheel.id,
    multisig: flywheel.multisig,
    vaultIndex: flywheel.vaultIndex,
    vaultAddress: flywheel.vault,
    burnWallet: token.burnWallet,
    owner: flywheel.owner,
    operator: flywheel.operator,
    proofTypes: flywheel.proofTypes,
    dailyLimits: { burn: cap(flywheel.dailyBurnCap), airdrop: cap(flywheel.dailyAirdropCap) },
  };
}
