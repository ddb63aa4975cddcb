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
import type { FlywheelPlace, FlywheelRecord, TokenRecord } from '../store/records.js';
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
  /** Its name and what is kept with it, in a store of many projects. */
  readonly project: { readonly name: string; readonly place: FlywheelPlace } | null;
}

function recordsOf(
  { ids }: Pick<StoreDeps, 'ids'>,
  tx: StoreTransaction,
  { wanted, plan, places, state, project }: ToStore,
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
    ...{ name: project?.name ?? null, place: project?.place ?? null },
  };
  return { token, flywheel };
}

/** Which project of a store is looked for: by its name, by its mint, or whichever there is. */
export type Sought = { readonly name: string } | { readonly mint: string } | 'any';

/** A project that is registered. */
export interface StoredProject {
  readonly registration: Registration;
  readonly flywheel: FlywheelRecord;
}

async function seek(tx: StoreTransaction, sought: Sought): Promise<StoredProject | null> {
  const named =
    typeof sought === 'object' && 'name' in sought ? await tx.flywheels.byName(sought.name) : null;
  const token =
    named !== null
      ? named && (await tx.tokens.get(named.tokenId))
      : sought === 'any'
        ? (await tx.tokens.list())[0]
        : await tx.tokens.byMint((sought as { mint: string }).mint);
  const flywheel = token === undefined ? undefined : await tx.flywheels.ofToken(token.id);
  if (token === undefined || flywheel === undefined) return null;
  return { registration: registrationView(token, flywheel), flywheel };
}

/** The registration that the store holds, or `null`. */
export const storedProject = (
  { store }: Pick<EngineDeps, 'store'>,
  sought: Sought,
): Promise<StoredProject | null> => store.read((tx) => seek(tx, sought));

/** How a refusal ends: before anything was done, and when accounts may have been made for it. */
export const UNCHANGED = 'nothing was changed';
export const NOT_STORED = 'nothing of this was stored, and what was made on the chain for it stays there';

/** What to do about a project that is there already. */
const seen = (name: string | null): { readonly hint: string } => ({
  hint:
    name === null
      ? '`flywheel vault` shows it. Another project takes another --data-dir.'
      : `\`flywheel vault --project ${name}\` shows it. Another project takes a name, a mint and a vault of its own.`,
});

/** @throws `ERR_LOCAL_ALREADY_EXISTS` when the store holds another registration. */
export function requireSame(
  { registration: known, flywheel }: StoredProject,
  places: Places,
  ending = UNCHANGED,
): void {
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
    `The token ${known.symbol} (${known.mintAddress}) is registered here already, with another ${differs.join(' and ')}; ${ending}.`,
    seen(flywheel.name),
  );
}

/** @throws `ERR_LOCAL_ALREADY_EXISTS` when another project has the mint, the vault or the name. */
export async function requireFree(
  tx: StoreTransaction,
  places: Places,
  name: string | null,
  ending = UNCHANGED,
): Promise<void> {
  const others = [
    ['mint', (await seek(tx, { mint: places.mint }))?.flywheel],
    ['vault', await tx.flywheels.ofVault(places.multisig, places.vaultIndex)],
    ['name', name === null ? undefined : await tx.flywheels.byName(name)],
  ] as const;
  const [taken] = others.filter(([, other]) => other !== undefined);
  if (taken === undefined) return;
  const [what, other] = taken;
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `The project ${other?.name ?? other?.id} is registered here already, with the same ${what}; ${ending}.`,
    seen(other?.name ?? null),
  );
}

/** Stores what is not stored yet. @param keyIsKept - is there a first key already that somebody can use? */
export async function storeRegistration(
  deps: StoreDeps,
  what: ToStore,
  keyIsKept: boolean,
): Promise<{ readonly registration: Registration; readonly apiKey: ApiKeyCreated | null }> {
  const { project, places } = what;
  const terms = { scopes: what.wanted.scopes, proofTypes: null };
  const sought = project === null ? 'any' : { name: project.name };
  return deps.store.transaction(async (tx) => {
    const known = await seek(tx, sought);
    if (known !== null) {
      const { registration, flywheel } = known;
      requireSame(known, places, NOT_STORED);
      if (project !== null) await tx.flywheels.setPlace(flywheel.id, project.place);
      return {
        registration,
        apiKey: keyIsKept ? null : await insertKey(deps, tx, registration.tokenId, terms),
      };
    }
    await requireFree(tx, places, project?.name ?? null, NOT_STORED);
    const { token, flywheel } = recordsOf(deps, tx, what);
    await tx.tokens.insert(token);
    await tx.flywheels.insert(flywheel);
    const apiKey = await insertKey(deps, tx, token.id, terms);
    await recordRegistration(deps, tx, token, apiKey);
    return { registration: registrationView(token, flywheel), apiKey };
  });
}
