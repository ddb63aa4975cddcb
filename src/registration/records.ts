/** What a registration leaves in the store: token, flywheel and the first API key, in one transaction. */
import { TOKEN_2022_PROGRAM } from '../chain/programs.js';
import { associatedTokenAddress } from '../chain/tokens/addresses.js';
import type { ApiKeyCreated, Registration } from '../contract/admin.js';
import type { ClusterRegistration, RegistrationPlan } from '../contract/registration.js';
import { recordRegistration } from '../engine/admin/audit.js';
import { insertKey } from '../engine/admin/keys.js';
import { registrationView } from '../engine/admin/registration-view.js';
import type { EngineDeps } from '../engine/deps.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { FlywheelRecord, TokenRecord } from '../store/records.js';
import type { StoreTransaction } from '../store/store.js';
import { isoTime } from '../values/time.js';
import { checkCaps } from './plan.js';
import type { Places, StateOnChain } from './read-state.js';

type StoreDeps = Pick<EngineDeps, 'store' | 'ids' | 'actor'>;

/** What is stored. */
export interface ToStore {
  readonly wanted: ClusterRegistration;
  readonly plan: Pick<RegistrationPlan, 'name' | 'symbol'>;
  readonly places: Places;
  readonly state: StateOnChain;
}

function recordsOf(
  { ids }: Pick<StoreDeps, 'ids'>,
  tx: StoreTransaction,
  { wanted, plan, places, state }: ToStore,
) {
  const { mint, flywheel: onChain } = state.token;
  const token: TokenRecord = {
    id: ids.uuid(),
    name: plan.name,
    symbol: plan.symbol,
    mintAddress: places.mint,
    decimals: mint.decimals,
    tokenProgram: onChain.tokenProgram === TOKEN_2022_PROGRAM ? 'token-2022' : 'token',
    generation: wanted.tokenGeneration,
    supply: mint.supply,
    burnWallet: places.burnWallet,
    burnTokenAccount: associatedTokenAddress(places.burnWallet, places.mint, onChain.tokenProgram),
    dateCreated: isoTime(tx.nowMs),
  };
  const flywheel: FlywheelRecord = {
    id: ids.uuid(),
    tokenId: token.id,
    multisig: places.multisig,
    vaultIndex: places.vaultIndex,
    vault: onChain.vault,
    vaultTokenAccount: onChain.vaultTokenAccount,
    owner: places.owner,
    operator: places.operator,
    proofTypes: wanted.proofTypes,
    ...checkCaps(wanted, mint.decimals),
  };
  return { token, flywheel };
}

/** The registration that the store holds, or `null`. */
export async function storedRegistration({ store }: Pick<EngineDeps, 'store'>): Promise<Registration | null> {
  return store.read(async (tx) => {
    const [token] = await tx.tokens.list();
    const flywheel = token === undefined ? undefined : await tx.flywheels.ofToken(token.id);
    return token === undefined || flywheel === undefined ? null : registrationView(token, flywheel);
  });
}

/** @throws `ERR_LOCAL_ALREADY_EXISTS` when the store holds another registration. */
export function requireSame(known: Registration, places: Places): void {
  const differs = [
    ...(known.mintAddress === places.mint ? [] : ['mint']),
    ...(known.multisig === places.multisig ? [] : ['multisig']),
    ...(known.vaultIndex === places.vaultIndex ? [] : ['vault index']),
    ...(known.owner === places.owner ? [] : ['owner']),
    ...(known.operator === places.operator ? [] : ['operator']),
    ...(known.burnWallet === places.burnWallet ? [] : ['burn wallet']),
  ];
  if (differs.length === 0) return;
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `The token ${known.symbol} (${known.mintAddress}) is registered here already, with another ${differs.join(' and ')}; nothing was changed.`,
  );
}

/** Stores what is not stored yet. @param keyIsKept - is there a first key already that somebody can use? */
export async function storeRegistration(
  deps: StoreDeps,
  what: ToStore,
  keyIsKept: boolean,
): Promise<{ readonly registration: Registration; readonly apiKey: ApiKeyCreated | null }> {
  const { scopes } = what.wanted;
  const known = await storedRegistration(deps);
  if (known !== null) requireSame(known, what.places);
  if (known !== null && keyIsKept) return { registration: known, apiKey: null };
  return deps.store.transaction(async (tx) => {
    if (known !== null)
      return {
        registration: known,
        apiKey: await insertKey(deps, tx, known.tokenId, { scopes, proofTypes: null }),
      };
    const { token, flywheel } = recordsOf(deps, tx, what);
    await tx.tokens.insert(token);
    await tx.flywheels.insert(flywheel);
    const apiKey = await insertKey(deps, tx, token.id, { scopes, proofTypes: null });
    await recordRegistration(deps, tx, token, apiKey);
    return { registration: registrationView(token, flywheel), apiKey };
  });
}
