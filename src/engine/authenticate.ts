/** Call → principal: whose key this is and what it may do; how keys are made. Only the SHA-256 of a key is ever stored. */
import type { Call } from '../contract/call.js';
import { isIdempotencyKey, normalKey } from '../contract/headers.js';
import { type KeyedOperationId, OPERATIONS, type OperationId } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { ApiKeyRecord, FlywheelRecord, TokenRecord } from '../store/records.js';
import type { KeyWithProject } from '../store/repositories/registrations.js';
import type { Store } from '../store/store.js';
import { base58Encode } from '../values/base58.js';
import { type Sha256, sha256 } from '../values/digest.js';
import type { Ids } from '../values/ids.js';
import { Secret } from '../values/secret.js';

/** Lets secret scanners recognise a key that got out. */
const PREFIX = 'fwk_';
const RANDOM_BYTES = 32;

export const createApiKey = (ids: Ids): Secret => new Secret(PREFIX + base58Encode(ids.bytes(RANDOM_BYTES)));

/**
 * The hash under which a key is stored. Looking a key up by its hash takes no longer for one that is almost right, so
 * timing tells nothing.
 */
export const apiKeyHash = (key: Secret): Sha256 => sha256(key.reveal());

/** The key of a call with all that hangs on it. */
export interface Principal {
  readonly key: ApiKeyRecord;
  /** `undefined`: the token is gone; most operations refuse then. */
  readonly token: TokenRecord | undefined;
  readonly flywheel: FlywheelRecord | undefined;
  /** The store's clock when this was read. */
  readonly nowMs: number;
}

/** Who calls an operation, and the request of their project that is known by the idempotency key of the call. */
export type Caller = Principal & Pick<KeyWithProject, 'earlier'>;

/** Has the key come to the end that it was given? Decided by the clock of the store. */
export const isOver = ({ dateExpires }: Pick<ApiKeyRecord, 'dateExpires'>, nowMs: number): boolean =>
  dateExpires !== null && Date.parse(dateExpires) <= nowMs;

/**
 * Finds the key's record, token and flywheel.
 * @param asked - the request to look for beside it.
 * @throws `ERR_UNAUTHORIZED` for a missing, unknown, revoked or ended key, and never says which.
 */
export async function authenticate(
  store: Store,
  credential: Secret | null,
  asked: Parameters<Store['findKey']>[1] = {},
): Promise<Caller> {
  const found = credential === null ? undefined : await store.findKey(apiKeyHash(credential), asked);
  if (found === undefined || found.key.dateRevoked !== null || isOver(found.key, found.nowMs)) {
    throw new FlywheelError('ERR_UNAUTHORIZED', 'The API key is missing or invalid.');
  }
  return found;
}

/** Who calls is judged before the idempotency key is: one that is none is looked for nowhere. @throws as {@link authenticate} */
export function findCaller(
  store: Store,
  operation: OperationId,
  { credential, idempotencyKey: key }: Pick<Call, 'credential' | 'idempotencyKey'>,
): Promise<Caller> {
  const asked = isKeyed(operation) && key !== undefined && isIdempotencyKey(key);
  return authenticate(store, credential, asked ? { operation, value: normalKey(key) } : {});
}

const isKeyed = (id: OperationId): id is KeyedOperationId => OPERATIONS[id].idempotencyKey !== 'none';

/** @throws `ERR_KEY_SCOPES_UNAUTHORIZED` unless the key has one of the operation's scopes. */
export function requireScope({ key }: Principal, operation: OperationId): void {
  const { scopes } = OPERATIONS[operation];
  if (scopes.some((scope) => key.scopes.includes(scope))) return;
  const needed = scopes.map((scope) => `\`${scope}\``).join(' or ');
  throw new FlywheelError('ERR_KEY_SCOPES_UNAUTHORIZED', `The API key needs the scope ${needed}.`);
}

/** Authenticates a call and checks that its key may use the operation at all. */
export async function admit(
  store: Store,
  credential: Secret | null,
  operation: OperationId,
): Promise<Principal> {
  const principal = await authenticate(store, credential);
  requireScope(principal, operation);
  return principal;
}

/** @throws `ERR_TOKEN_NOT_FOUND` when the key's token is gone. */
export function requireToken(principal: Principal): TokenRecord {
  if (principal.token !== undefined) return principal.token;
  throw new FlywheelError('ERR_TOKEN_NOT_FOUND', 'The token of the API key was not found.');
}

/** @throws `ERR_FLYWHEEL_NOT_FOUND` when the token has none. */
export function requireFlywheel(principal: Principal): FlywheelRecord {
  if (principal.flywheel !== undefined) return principal.flywheel;
  throw new FlywheelError('ERR_FLYWHEEL_NOT_FOUND', 'The token of the API key has no registered project.');
}

/** May this key submit proofs of this type? */
export function permitsProofType(principal: Principal, type: string): boolean {
  const known = principal.flywheel?.proofTypes.includes(type) ?? false;
  return known && (principal.key.proofTypes?.includes(type) ?? true);
}
