/** Administration of a project: its records, keys and caps, and the audit log. */

import { tokenProgramAddress } from '../../chain/programs.js';
import { ALL_PERMISSIONS, NO_AUTHORITY } from '../../chain/squads/accounts.js';
import { associatedTokenAddress, vaultAddress } from '../../chain/squads/addresses.js';
import type { ApiKeyCreated, AuditQuery, CapChanges, KeyTerms } from '../../contract/admin.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { ApiKeyRecord, ProjectRecord } from '../../store/records.js';
import type { UsageKind } from '../../store/repositories/usage.js';
import { type NewRow, whole } from '../../store/schema.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import type { Scope } from '../../values/key-terms.js';
import type { Secret } from '../../values/secret.js';
import { isoTime } from '../../values/time.js';
import { formatTokenAmount, parseTokenAmount } from '../../values/token-amount.js';
import { dailyCap, USAGE_KINDS, usedToday } from '../caps.js';
import type { EngineDeps } from '../deps.js';
import { apiKeyHash, createApiKey } from '../operation.js';

const MAX_NAMES = 20;

async function named(tx: StoreTransaction, name: string): Promise<ProjectRecord> {
  const found = await tx.projects.find({ name });
  if (found !== undefined) return found;
  const names = (await tx.projects.list(MAX_NAMES)).flatMap(({ name: one }) => one ?? []);
  throw new FlywheelError(
    'ERR_LOCAL_NOT_FOUND',
    `No project ${JSON.stringify(name)}${names.length === 0 ? '' : `. Projects: ${names.join(', ')}`}.`,
    { hint: 'Name another project with --project, or create it: `flywheel register --project NAME`.' },
  );
}

async function only(tx: StoreTransaction): Promise<ProjectRecord | undefined> {
  const [first, ...others] = await tx.projects.list(MAX_NAMES + 1);
  // The store of a data directory has one project without a name: the first.
  if (others.length === 0 || first?.name === null) return first;
  const names = [first, ...others].map((one) => one?.name ?? one?.flywheelId);
  const shown = names.slice(0, MAX_NAMES).join(', ');
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `There are several projects: ${shown}${names.length > MAX_NAMES ? ', …' : ''}.`,
    { hint: 'Choose one with --project or FLYWHEEL_PROJECT.' },
  );
}

/**
 * @returns the project with this name; without a name the only one, or `undefined` before registration.
 * @throws `ERR_LOCAL_NOT_FOUND` for an unknown name, `ERR_CONFIG_INVALID` when a name is required.
 */
export const findRegistration = (
  tx: StoreTransaction,
  name: string | null,
): Promise<ProjectRecord | undefined> => (name === null ? only(tx) : named(tx, name));

/** @throws as {@link findRegistration}; `ERR_LOCAL_NOT_FOUND` before registration. */
export async function requireRegistration(tx: StoreTransaction, name: string | null): Promise<ProjectRecord> {
  const found = await findRegistration(tx, name);
  if (found !== undefined) return found;
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', 'No project found.');
}

/**
 * Writes the audit row in the transaction of the act, so that neither exists without the other.
 * @param act - its `detail` never contains a secret.
 */
export const recordAct = (
  { actor }: Pick<EngineDeps, 'actor'>,
  tx: StoreTransaction,
  act: Omit<Parameters<StoreTransaction['audit']['append']>[0], 'actor' | 'dateCreated'>,
): Promise<void> => tx.audit.append({ ...act, actor, dateCreated: isoTime(tx.nowMs) });

export async function listActs(
  { store, project = null }: Pick<EngineDeps, 'store' | 'project'>,
  query: AuditQuery,
) {
  return store.read(async (tx) => {
    const own = project === null ? {} : { tokenId: (await requireRegistration(tx, project)).id };
    const entries = await tx.audit.list({ ...query, ...own });
    const names = new Map<string | null, string>();
    for (const id of new Set(entries.flatMap(({ tokenId }) => tokenId ?? []))) {
      const found = await tx.projects.find({ id });
      names.set(id, found?.name ?? found?.symbol ?? id);
    }
    return entries.map(({ tokenId, actor, action, subject, detail, dateCreated: date }) => ({
      ...{ date, actor, action, project: names.get(tokenId) ?? tokenId, subject, detail },
    }));
  });
}

async function insertKey(
  deps: Pick<EngineDeps, 'ids'>,
  tx: StoreTransaction,
  tokenId: string,
  terms: KeyTerms,
): Promise<ApiKeyCreated> {
  const key = createApiKey(deps.ids);
  const { name = null, scopes, proofTypes } = terms;
  const id = deps.ids.uuid();
  await tx.apiKeys.insert({
    ...{ id, tokenId, hash: apiKeyHash(key), name, scopes, proofTypes },
    dateCreated: isoTime(tx.nowMs),
  });
  return { id, key: key.reveal(), name, scopes };
}

const MAX_NAME_LENGTH = 64;

/** @throws `ERR_INVALID_REQUEST` for a proof type that the project lacks, or an invalid name. */
function checkKeyTerms(project: ProjectRecord, terms: KeyTerms): void {
  const { name = null } = terms;
  if (name !== null && (name.trim() === '' || name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name)))
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `The name of a key has 1 to ${MAX_NAME_LENGTH} visible characters, got ${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))}.`,
    );
  const unknown = (terms.proofTypes ?? []).filter((type) => !project.proofTypes.includes(type));
  if (unknown.length === 0) return;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The project has no proof type ${unknown.join(', ')}. It has ${project.proofTypes.join(', ')}.`,
  );
}

export const keyInfo = ({ id, name, hash, tokenId: _, ...record }: ApiKeyRecord, own: Secret | null) => ({
  ...{ id, name, isInUse: own !== null && hash === apiKeyHash(own) },
  ...record,
});

export async function createKey(
  deps: Pick<EngineDeps, 'ids' | 'actor' | 'store'>,
  project: ProjectRecord,
  terms: KeyTerms,
): Promise<ApiKeyCreated> {
  checkKeyTerms(project, terms);
  return deps.store.transaction(async (tx) => {
    const created = await insertKey(deps, tx, project.id, terms);
    await recordAct(deps, tx, {
      ...{ tokenId: project.id, action: 'keys.create', subject: created.id },
      detail: { name: created.name, scopes: terms.scopes, proofTypes: terms.proofTypes },
    });
    return created;
  });
}

/** @throws `ERR_NOT_FOUND` */
export async function revokeKey(
  deps: EngineDeps,
  tokenId: string,
  id: string,
  { afterMs, own }: { readonly afterMs: number; readonly own: Secret | null },
) {
  return deps.store.transaction(async (tx) => {
    const record = await tx.apiKeys.find({ id });
    if (record?.tokenId !== tokenId)
      throw new FlywheelError('ERR_NOT_FOUND', `No API key ${id}.`, {
        hint: 'List the keys: `flywheel keys list`',
      });
    if (record.dateRevoked !== null) return keyInfo(record, own);
    const date = isoTime(tx.nowMs + afterMs);
    // Revoking never prolongs a key that expires earlier.
    if (afterMs > 0 && record.dateExpires !== null && record.dateExpires <= date) return keyInfo(record, own);
    const end = afterMs === 0 ? { dateRevoked: date } : { dateExpires: date };
    await tx.apiKeys.change({ id }, end);
    const detail = { name: record.name, ...end };
    await recordAct(deps, tx, { tokenId, action: 'keys.revoke', subject: id, detail });
    return keyInfo({ ...record, ...end }, own);
  });
}

export const THRESHOLD = 2;

type ProjectSource = Omit<
  NewRow<'projects'>,
  'id' | 'flywheelId' | 'burnTokenAccount' | 'vault' | 'vaultTokenAccount' | 'dateCapsLowered' | 'dateCreated'
>;

export function projectRecord(
  { ids }: Pick<EngineDeps, 'ids'>,
  source: ProjectSource,
  nowMs: number,
): ProjectRecord {
  const holding = (owner: Address): Address =>
    associatedTokenAddress(owner, source.mintAddress, tokenProgramAddress(source.tokenProgram));
  const vault = vaultAddress(source.multisig, source.vaultIndex).address;
  return whole('projects', {
    ...{ ...source, id: ids.uuid(), flywheelId: ids.uuid(), dateCreated: isoTime(nowMs) },
    ...{ burnTokenAccount: holding(source.burnWallet), vault, vaultTokenAccount: holding(vault) },
  });
}

export const insertFirstKey = (
  deps: Pick<EngineDeps, 'ids'>,
  tx: StoreTransaction,
  tokenId: string,
  scopes: readonly Scope[],
): Promise<ApiKeyCreated> => insertKey(deps, tx, tokenId, { name: 'first key', scopes, proofTypes: null });

export async function insertProject(
  deps: Pick<EngineDeps, 'ids' | 'actor'>,
  tx: StoreTransaction,
  project: ProjectRecord,
  scopes: readonly Scope[],
): Promise<{ readonly registration: Registration; readonly apiKey: ApiKeyCreated }> {
  await tx.projects.insert(project);
  const apiKey = await insertFirstKey(deps, tx, project.id, scopes);
  const detail = { mintAddress: project.mintAddress, keyId: apiKey.id };
  await recordAct(deps, tx, { tokenId: project.id, action: 'register', subject: project.id, detail });
  return { registration: registrationView(project), apiKey };
}

export const registeredMultisig = ({ owner, operator }: Pick<ProjectRecord, 'owner' | 'operator'>) => ({
  configAuthority: NO_AUTHORITY,
  threshold: THRESHOLD,
  members: [owner, operator].map((key) => ({ key, permissions: ALL_PERMISSIONS })),
  timeLockSeconds: 0,
  rentCollector: operator,
});

export type Registration = ReturnType<typeof registrationView>;

export function registrationView(project: ProjectRecord) {
  const cap = (amount: bigint | null): string | null =>
    amount === null ? null : formatTokenAmount(amount, project.decimals);
  return {
    ...{
      tokenId: project.id,
      name: project.tokenName,
      symbol: project.symbol,
      mintAddress: project.mintAddress,
    },
    ...{
      decimals: project.decimals,
      tokenProgram: project.tokenProgram,
      tokenGeneration: project.generation,
    },
    ...{ flywheelId: project.flywheelId, multisig: project.multisig },
    ...{ vaultIndex: project.vaultIndex, vaultAddress: project.vault, burnWallet: project.burnWallet },
    ...{ owner: project.owner, operator: project.operator, proofTypes: project.proofTypes },
    /** Whole tokens as decimal text; `null` for no cap. */
    dailyLimits: { burn: cap(project.dailyBurnCap), airdrop: cap(project.dailyAirdropCap) },
  };
}

/** `used`: landed today, plus everything that may still land. `cap` and `left` are `null` without a cap. */
export async function readCaps(tx: StoreTransaction, project: ProjectRecord) {
  const { day, ...used } = await usedToday(tx, project.id);
  const text = (amount: bigint): string => formatTokenAmount(amount, project.decimals);
  const state = (kind: UsageKind) => {
    const cap = dailyCap(project, kind);
    const left = cap === null || cap < used[kind] ? 0n : cap - used[kind];
    const most = cap === null ? { cap: null, left: null } : { cap: text(cap), left: text(left) };
    return { used: text(used[kind]), ...most };
  };
  return { day: day as string, symbol: project.symbol, burn: state('burn'), airdrop: state('airdrop') };
}

const isLower = (cap: bigint | null, before: bigint | null): boolean =>
  cap !== null && (before === null || cap < before);

/** Accepted requests keep their reservation. @throws `ERR_INVALID_REQUEST` for an amount that the token cannot represent */
export async function setCaps(deps: Pick<EngineDeps, 'store' | 'actor' | 'project'>, changes: CapChanges) {
  return deps.store.transaction(async (tx) => {
    const project = await requireRegistration(tx, deps.project ?? null);
    const amountOf = (kind: UsageKind): bigint | null => {
      const text = changes[kind];
      if (text === undefined) return dailyCap(project, kind);
      if (text === null) return null;
      return Number(text) === 0 ? 0n : parseTokenAmount(text, project.decimals);
    };
    const caps = { dailyBurnCap: amountOf('burn'), dailyAirdropCap: amountOf('airdrop') };
    const after = { ...project, ...caps };
    const isAnyLower = USAGE_KINDS.some((kind) => isLower(dailyCap(after, kind), dailyCap(project, kind)));
    const dateCapsLowered = isAnyLower ? isoTime(tx.nowMs) : project.dateCapsLowered;
    await tx.projects.change({ id: project.id }, { ...caps, dateCapsLowered });
    const text = (amount: bigint | null) =>
      amount === null ? null : formatTokenAmount(amount, project.decimals);
    await recordAct(deps, tx, {
      ...{ tokenId: project.id, action: 'caps.set', subject: project.flywheelId },
      detail: {
        before: { burn: text(project.dailyBurnCap), airdrop: text(project.dailyAirdropCap) },
        after: { burn: text(after.dailyBurnCap), airdrop: text(after.dailyAirdropCap) },
      },
    });
    return readCaps(tx, { ...after, dateCapsLowered });
  });
}
