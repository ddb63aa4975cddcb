/** What a registration leaves in the store: token, flywheel and the first API key, in one transaction. */
import { SQUADS_PROGRAM } from '../../chain/programs.js';
import type { ApiKeyCreated, Registration } from '../../contract/admin.js';
import type { ClusterRegistration, RegistrationPlan } from '../../contract/registration.js';
import type { FoundRegistration } from '../../engine/admin/find-registration.js';
import {
  insertFirstKey,
  insertProject,
  projectRecords,
  registrationView,
} from '../../engine/admin/project-records.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { FlywheelPlace } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { randomIds } from '../../values/ids.js';
import { processActor } from '../actor.js';
import { checkCaps } from './plan.js';
import type { Places, StateOnChain } from './state.js';

/** What is stored. */
interface ToStore {
  readonly wanted: ClusterRegistration;
  readonly plan: Pick<RegistrationPlan, 'name' | 'symbol' | 'tokenProgram'>;
  readonly places: Places;
  readonly state: StateOnChain;
  /** Who may act for it and what its token allows. */
  readonly facts: FlywheelPlace['facts'];
  /** In a database; a data directory has one project, without a name. */
  readonly name: string | null;
}

/** How a refusal ends: before anything was done, and when accounts may have been made for it. */
export const UNCHANGED = 'nothing was changed';
export const NOT_STORED = 'nothing was stored; accounts that were created on chain stay there';

/** What to do about a project that is there already. */
const seen = (name: string | null): { readonly hint: string } => ({
  hint:
    name === null
      ? 'See it with `flywheel vault`. For another project use another --data-dir.'
      : `See it with \`flywheel vault --project ${name}\`. Another project needs its own name, mint and vault.`,
});

/** @throws `ERR_LOCAL_ALREADY_EXISTS` when what is registered is another one. */
export function requireSame(
  { token, flywheel }: FoundRegistration,
  places: Places,
  ending = UNCHANGED,
): void {
  const known: Places = { ...flywheel, mint: token.mintAddress, burnWallet: token.burnWallet };
  const words = { mint: 'mint', multisig: 'multisig', vaultIndex: 'vault index', owner: 'owner' };
  const all = { ...words, operator: 'operator', burnWallet: 'burn wallet' } satisfies Record<
    keyof Places,
    string
  >;
  const differs = (Object.keys(all) as (keyof Places)[]).filter((name) => known[name] !== places[name]);
  if (differs.length === 0) return;
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `The token ${token.symbol} (${token.mintAddress}) is already registered here, with another ${differs.map((name) => all[name]).join(' and ')}; ${ending}.`,
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
  const token = await tx.tokens.byMint(places.mint);
  const others = [
    ['mint', token && (await tx.flywheels.ofToken(token.id))],
    ['vault', await tx.flywheels.ofVault(places.multisig, places.vaultIndex)],
    ['name', name === null ? undefined : await tx.flywheels.byName(name)],
  ] as const;
  const [taken] = others.filter(([, other]) => other !== undefined);
  if (taken === undefined) return;
  const [what, other] = taken;
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `The project ${other?.name ?? other?.id} is already registered here, with the same ${what}; ${ending}.`,
    seen(other?.name ?? null),
  );
}

/**
 * Stores what is not stored yet.
 * @param known - what is registered already.
 * @param keyIsKept - is there a first key already that somebody can use?
 */
export async function storeRegistration(
  tx: StoreTransaction,
  what: ToStore,
  known: FoundRegistration | undefined,
  keyIsKept: boolean,
): Promise<{ readonly registration: Registration; readonly apiKey: ApiKeyCreated | null }> {
  const { places, wanted, plan, state, facts, name } = what;
  const deps = { ids: randomIds, actor: processActor() };
  const before = known?.flywheel.place;
  const place: FlywheelPlace = {
    ...{ squadsProgram: SQUADS_PROGRAM, facts },
    minOperatorSol: wanted.minOperatorSol ?? before?.minOperatorSol ?? null,
    maxBatchRent: wanted.maxBatchRent ?? before?.maxBatchRent ?? null,
  };
  if (known !== undefined) {
    const { token, flywheel } = known;
    requireSame(known, places, NOT_STORED);
    await tx.flywheels.setPlace(flywheel.id, place);
    const apiKey = keyIsKept ? null : await insertFirstKey(deps, tx, token.id, wanted.scopes);
    return { registration: registrationView(token, flywheel), apiKey };
  }
  await requireFree(tx, places, name, NOT_STORED);
  const { decimals, supply } = state.token.mint;
  const { mint, ...members } = places;
  const project = projectRecords(deps, {
    ...members,
    ...{ name: plan.name, symbol: plan.symbol, mintAddress: mint, decimals, supply },
    tokenProgram: plan.tokenProgram,
    ...{ generation: wanted.tokenGeneration, proofTypes: wanted.proofTypes },
    ...{ ...checkCaps(wanted, decimals), place, projectName: name, nowMs: tx.nowMs },
  });
  return insertProject(deps, tx, project, wanted.scopes);
}
