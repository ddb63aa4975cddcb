/**
 * Common start of every operation: caller, scope, idempotency key, input shape, and the stored answer of an earlier call with the
 * key. Differences between operations are data.
 */
import type { Call, Reply } from '../contract/call.js';
import { checkIdempotencyKey, isIdempotencyKey, normalKey } from '../contract/headers.js';
import { failureOf, type KeyedOperationId, OPERATIONS, type OperationId } from '../contract/operations.js';
import type { AnswerOf } from '../contract/service.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { ApiKeyRecord, FlywheelRecord, RequestRecord, TokenRecord } from '../store/records.js';
import type { KeyWithProject } from '../store/repositories/registrations.js';
import type { Store } from '../store/store.js';
import { base58Encode } from '../values/bytes.js';
import type { JsonValue } from '../values/canonical-json.js';
import { fingerprint, type Sha256, sha256 } from '../values/digest.js';
import type { Ids } from '../values/ids.js';
import { Secret } from '../values/secret.js';
import type { EngineDeps } from './deps.js';
import {
  noRepeat,
  type RequestIdentity,
  readReply,
  refusedByContent,
  requireReadable,
  requireRepeat,
} from './requests.js';

/** Prefix for secret scanners. */
const PREFIX = 'fwk_';
const RANDOM_BYTES = 32;

export const createApiKey = (ids: Ids): Secret => new Secret(PREFIX + base58Encode(ids.bytes(RANDOM_BYTES)));

/** Keys are stored and looked up by hash, so timing reveals nothing about a nearly correct key. */
export const apiKeyHash = (key: Secret): Sha256 => sha256(key.reveal());

export interface Principal {
  readonly key: ApiKeyRecord;
  readonly token: TokenRecord | undefined;
  readonly flywheel: FlywheelRecord | undefined;
  readonly nowMs: number;
}

export type Caller = Principal & Pick<KeyWithProject, 'earlier'>;

const isOver = ({ dateExpires }: Pick<ApiKeyRecord, 'dateExpires'>, nowMs: number): boolean =>
  dateExpires !== null && Date.parse(dateExpires) <= nowMs;

/**
 * Authentication comes before validation of the idempotency key; a malformed key is not looked up.
 * @throws `ERR_UNAUTHORIZED` for a missing, unknown, revoked or expired key, with the same message.
 */
export async function findCaller(
  store: Store,
  operation: OperationId,
  { credential, idempotencyKey: key }: Pick<Call, 'credential' | 'idempotencyKey'>,
): Promise<Caller> {
  const asked = isKeyed(operation) && key !== undefined && isIdempotencyKey(key);
  const of = asked ? { operation, value: normalKey(key) } : {};
  const found = credential === null ? undefined : await store.findKey(apiKeyHash(credential), of);
  if (found === undefined || found.key.dateRevoked !== null || isOver(found.key, found.nowMs))
    throw new FlywheelError('ERR_UNAUTHORIZED', 'The API key is missing or invalid.');
  return found;
}

const isKeyed = (id: OperationId): id is KeyedOperationId => OPERATIONS[id].idempotencyKey !== 'none';

/** @throws `ERR_KEY_SCOPES_UNAUTHORIZED` unless the key has one of the operation's scopes. */
export function requireScope({ key }: Principal, operation: OperationId): void {
  const { scopes } = OPERATIONS[operation];
  if (scopes.some((scope) => key.scopes.includes(scope))) return;
  const needed = scopes.map((scope) => `\`${scope}\``).join(' or ');
  throw new FlywheelError('ERR_KEY_SCOPES_UNAUTHORIZED', `The API key needs the scope ${needed}.`);
}

export async function admit(
  store: Store,
  credential: Secret | null,
  operation: OperationId,
): Promise<Principal> {
  const principal = await findCaller(store, operation, { credential });
  requireScope(principal, operation);
  return principal;
}

export function requireToken(principal: Principal): TokenRecord {
  if (principal.token !== undefined) return principal.token;
  throw new FlywheelError('ERR_TOKEN_NOT_FOUND', 'The API key belongs to an unknown token.');
}

export function requireFlywheel(principal: Principal): FlywheelRecord {
  if (principal.flywheel !== undefined) return principal.flywheel;
  throw new FlywheelError('ERR_FLYWHEEL_NOT_FOUND', 'The API key belongs to a token without a project.');
}

export function permitsProofType(principal: Principal, type: string): boolean {
  const known = principal.flywheel?.proofTypes.includes(type) ?? false;
  return known && (principal.key.proofTypes?.includes(type) ?? true);
}

const MAX_NAMED_TYPES = 20;

export function permittedTypesText(principal: Principal): string {
  const types = (principal.flywheel?.proofTypes ?? []).filter((type) => permitsProofType(principal, type));
  if (types.length === 0) return 'this key may use none';
  const more = types.length - MAX_NAMED_TYPES;
  return `this key may use ${types.slice(0, MAX_NAMED_TYPES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

interface Admitted<Input> {
  readonly deps: EngineDeps;
  readonly principal: Principal;
  readonly input: Input;
  readonly call: Call;
}

export interface KeyedCall<Input> extends Admitted<Input> {
  readonly identity: RequestIdentity;
  readonly earlier: RequestRecord | undefined;
}

interface Plan<Id extends OperationId, Input, Given> {
  readonly parse: (
    input: unknown,
    caller: { readonly deps: EngineDeps; readonly principal: Principal },
  ) => Input;
  readonly perform: (given: Given) => Promise<Reply<AnswerOf<Id>>>;
}

interface KeyedPlan<Id extends KeyedOperationId, Input> extends Plan<Id, Input, KeyedCall<Input>> {
  /** Proof types of an input: a key limited to some types reads only stored answers about these. @default none */
  readonly proofTypes?: (input: Input) => readonly string[];
  readonly replay?: (stored: unknown, call: Admitted<Input>) => Promise<Reply<AnswerOf<Id>>>;
}

export const done = <Value>(value: Value): Reply<Value> => ({ value, meta: { replayed: false } });

export type EngineOperation<Id extends OperationId> = (
  deps: EngineDeps,
  input: unknown,
  call: Call,
  caller?: Caller,
) => Promise<Reply<AnswerOf<Id>>>;

export const operation =
  <Id extends Exclude<OperationId, KeyedOperationId>, Input>(
    id: Id,
    plan: Plan<Id, Input, Admitted<Input>>,
  ): EngineOperation<Id> =>
  (deps, input, call, caller) =>
    withOwnError(id, call, async () => {
      const principal = caller ?? (await findCaller(deps.store, id, call));
      requireScope(principal, id);
      const parsed = plan.parse(input, { deps, principal });
      if (OPERATIONS[id].method === 'POST') await requireUsable(deps, principal);
      return plan.perform({ deps, principal, input: parsed, call });
    });

export const keyedOperation =
  <Id extends KeyedOperationId, Input>(id: Id, plan: KeyedPlan<Id, Input>): EngineOperation<Id> =>
  (deps, input, call, caller) =>
    withOwnError(id, call, async () =>
      callKeyed(id, plan, deps, input, call, caller ?? (await findCaller(deps.store, id, call))),
    );

async function callKeyed<Id extends KeyedOperationId, Input>(
  id: Id,
  plan: KeyedPlan<Id, Input>,
  deps: EngineDeps,
  given: unknown,
  call: Call,
  { earlier, ...principal }: Caller,
): Promise<Reply<AnswerOf<Id>>> {
  requireScope(principal, id);
  const value = checkIdempotencyKey(call.idempotencyKey, OPERATIONS[id].idempotencyKey);
  let input: Input;
  try {
    input = plan.parse(given, { deps, principal });
  } catch (error) {
    throw plan.replay !== undefined && earlier === undefined ? refusedByContent(value, error) : error;
  }
  const admitted = { deps, principal, input, call };
  const body = given as JsonValue;
  const { id: keyId, tokenId } = principal.key;
  const identity = { tokenId, keyId, operation: id, value, fingerprint: fingerprint(body), call };
  if (earlier !== undefined) {
    requireRepeat(deps, principal, identity, earlier);
    await requireReadable(deps, earlier, principal, plan.proofTypes?.(input) ?? []);
  }
  if (plan.replay !== undefined) {
    if (earlier?.reply != null) {
      call.onOperation?.(earlier.id);
      return plan.replay(readReply(earlier.reply), admitted);
    }
    if (call.repeatOnly === true) throw noRepeat();
  }
  await requireUsable(deps, principal);
  return plan.perform({ ...admitted, identity, earlier });
}

/** @throws `ERR_CHAIN_MISMATCH`, `ERR_STORE_BEHIND`, `ERR_UNAVAILABLE` */
async function requireUsable(deps: EngineDeps, { key: { tokenId } }: Principal): Promise<void> {
  await deps.verifyToken?.(tokenId);
  await deps.gaps.require(tokenId);
}

async function withOwnError<Result>(
  id: OperationId,
  { signal }: Call,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (isFlywheelError(cause)) throw cause;
    if (signal?.aborted === true) {
      const message = 'Interrupted. Unfinished work is stored and can be resumed.';
      throw new FlywheelError('ERR_INTERRUPTED', message, { cause });
    }
    throw new FlywheelError(failureOf(id), 'Internal error of the service.', { cause });
  }
}

export const describeKey = operation('describeKey', {
  parse: (_input, { principal }) => requireToken(principal),
  perform: async ({ principal: { key, flywheel }, input: token }) =>
    done({
      ...{ id: key.id, name: key.name, scopes: [...key.scopes] },
      proofTypes: key.proofTypes === null ? null : [...key.proofTypes],
      ...{ tokenId: token.id, symbol: token.symbol, mintAddress: token.mintAddress },
      ...{ multisig: flywheel?.multisig ?? null, decimals: token.decimals },
    }),
});
