/**
 * Common start of every operation: caller, scope, idempotency key, input shape, and the stored answer of an earlier call with the
 * key. Differences between operations are data. The first result of a request wins, a repeat returns it, and the next call with
 * the key resumes an unfinished request (contract, section 1.4).
 */
import type { Call, Reply, WaitingForChain } from '../contract/call.js';
import { checkIdempotencyKey, isIdempotencyKey, normalKey } from '../contract/headers.js';
import { failureOf, type KeyedOperationId, OPERATIONS, type OperationId } from '../contract/operations.js';
import type { AnswerOf } from '../contract/service.js';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError, invariant, isFlywheelError } from '../errors/flywheel-error.js';
import type { ApiKeyRecord, ProjectRecord, RequestRecord } from '../store/records.js';
import type { KeyWithProject } from '../store/repositories/registrations.js';
import { whole } from '../store/schema.js';
import type { Store, StoreTransaction } from '../store/store.js';
import { base58Encode } from '../values/bytes.js';
import type { JsonValue } from '../values/canonical-json.js';
import { fingerprint, type Sha256, sha256 } from '../values/digest.js';
import type { Ids } from '../values/ids.js';
import { Secret } from '../values/secret.js';
import { parseStrictJson } from '../values/strict-json.js';
import { isoTime } from '../values/time.js';
import { type EngineDeps, tell } from './deps.js';
import { isWorkedOn, newLease } from './lease.js';

/** Prefix for secret scanners. */
const PREFIX = 'fwk_';
const RANDOM_BYTES = 32;

export const createApiKey = (ids: Ids): Secret => new Secret(PREFIX + base58Encode(ids.bytes(RANDOM_BYTES)));

/** Keys are stored and looked up by hash, so timing reveals nothing about a nearly correct key. */
export const apiKeyHash = (key: Secret): Sha256 => sha256(key.reveal());

export interface Principal {
  readonly key: ApiKeyRecord;
  readonly project: ProjectRecord;
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

export function permitsProofType(principal: Principal, type: string): boolean {
  return principal.project.proofTypes.includes(type) && (principal.key.proofTypes?.includes(type) ?? true);
}

const MAX_NAMED_TYPES = 20;

export function permittedTypesText(principal: Principal): string {
  const types = principal.project.proofTypes.filter((type) => permitsProofType(principal, type));
  if (types.length === 0) return 'this key may use none';
  const more = types.length - MAX_NAMED_TYPES;
  return `this key may use ${types.slice(0, MAX_NAMED_TYPES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

interface Asker {
  readonly deps: EngineDeps;
  readonly principal: Principal;
}

export interface KeyedCall<Input> extends Asker {
  readonly input: Input;
  readonly call: Call;
  readonly identity: RequestIdentity;
  readonly earlier: RequestRecord | undefined;
}

interface Plan<Id extends OperationId, Input> {
  readonly parse: (input: unknown, asker: Asker) => Input;
  readonly perform: (given: KeyedCall<Input>) => Promise<Reply<AnswerOf<Id>>>;
  /** Proof types of an input: a key limited to some types reads only stored answers about these. @default none */
  readonly proofTypes?: (input: Input) => readonly string[];
  readonly replay?: (stored: unknown, call: KeyedCall<Input>) => Promise<Reply<AnswerOf<Id>>>;
}

export const done = <Value>(value: Value): Reply<Value> => ({ value, meta: { replayed: false } });

export type EngineOperation<Id extends OperationId> = (
  deps: EngineDeps,
  input: unknown,
  call: Call,
  caller?: Caller,
) => Promise<Reply<AnswerOf<Id>>>;

export const operation =
  <Id extends OperationId, Input>(id: Id, plan: Plan<Id, Input>): EngineOperation<Id> =>
  (deps, given, call, known) =>
    withOwnError(id, call, async () => {
      const { earlier, ...principal } = known ?? (await findCaller(deps.store, id, call));
      requireScope(principal, id);
      const { method, idempotencyKey } = OPERATIONS[id];
      const value = checkIdempotencyKey(call.idempotencyKey, idempotencyKey);
      const isFirst = plan.replay !== undefined && earlier === undefined;
      const input = parsed(() => plan.parse(given, { deps, principal }), isFirst ? value : undefined);
      const { id: keyId, tokenId } = principal.key;
      const print = idempotencyKey === 'none' ? sha256('') : fingerprint(given as JsonValue);
      const identity = { tokenId, keyId, operation: id as KeyedOperationId, value, fingerprint: print, call };
      const asked = { deps, principal, input, call, identity, earlier };
      const repeated = await repeat(plan, asked);
      if (repeated !== null) return repeated;
      if (method === 'POST') await requireUsable(deps, principal);
      return plan.perform(asked);
    });

/** @param key - of a first request, which says that it is unused. */
function parsed<Input>(parse: () => Input, key: string | undefined): Input {
  try {
    return parse();
  } catch (error) {
    throw refusedByContent(key, error);
  }
}

/** The stored answer; `null`: there is none yet. */
async function repeat<Id extends OperationId, Input>(
  { proofTypes, replay }: Plan<Id, Input>,
  asked: KeyedCall<Input>,
): Promise<Reply<AnswerOf<Id>> | null> {
  const { deps, principal, input, call, identity, earlier } = asked;
  if (earlier !== undefined) {
    requireRepeat(deps, principal, identity, earlier);
    await requireReadable(deps, earlier, principal, proofTypes?.(input) ?? []);
  }
  if (replay === undefined) return null;
  if (earlier?.reply == null) {
    if (call.repeatOnly === true) throw noRepeat();
    return null;
  }
  call.onOperation?.(earlier.id);
  return replay(readReply(earlier.reply), asked);
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
  parse: () => null,
  perform: async ({ principal: { key, project } }) =>
    done({
      ...{ id: key.id, name: key.name, scopes: [...key.scopes] },
      proofTypes: key.proofTypes === null ? null : [...key.proofTypes],
      ...{ tokenId: project.id, symbol: project.symbol, mintAddress: project.mintAddress },
      ...{ multisig: project.multisig, decimals: project.decimals },
    }),
});

export interface RequestIdentity {
  /** Idempotency keys are unique per project and operation. */
  readonly tokenId: string;
  readonly keyId: string;
  readonly operation: KeyedOperationId;
  /** The idempotency key; `undefined`: every call is a new request. */
  readonly value: string | undefined;
  readonly fingerprint: Sha256;
  readonly call: Pick<Call, 'requestId' | 'onOperation'>;
}

/** @throws `ERR_IDEMPOTENCY_KEY_REUSED` for another fingerprint, `ERR_DUPLICATE_IDEMPOTENCY_KEY` while an engine has the lease */
function requireRepeat(
  deps: EngineDeps,
  at: Pick<StoreTransaction, 'nowMs'>,
  { fingerprint }: RequestIdentity,
  earlier: RequestRecord,
): void {
  if (earlier.fingerprint !== fingerprint) {
    throw new FlywheelError(
      'ERR_IDEMPOTENCY_KEY_REUSED',
      `The idempotency key ${earlier.value} was used before with another body.`,
    );
  }
  if (earlier.status === 'running' && isWorkedOn(at, earlier))
    throw inUse(
      `A request with the idempotency key ${earlier.value} is still running${waitsFor(deps.leases.waitingFor(earlier.id))}.`,
    );
}

/** Keeps numbers in proofs that a double cannot represent. */
const readReply = (reply: string): unknown =>
  parseStrictJson(reply, { maxDepth: Number.POSITIVE_INFINITY }).value;

/**
 * Results belong to the project, not to one key. A key limited to some proof types may read or resume a request only if it
 * permits every type of the request that the original key permitted. Types refused to the original key reveal nothing, so a
 * replacement key gets the whole answer.
 * @param proofTypes - types of the request.
 * @throws `ERR_INVALID_PROOF`
 */
export async function requireReadable(
  { store }: Pick<EngineDeps, 'store'>,
  request: RequestRecord,
  { key: { id, proofTypes: permitted } }: Principal,
  proofTypes: readonly string[],
): Promise<void> {
  if (request.keyId === id || permitted === null) return;
  const { proofTypes: ofMaker = null } =
    (await store.read((tx) => tx.apiKeys.find({ id: request.keyId }))) ?? {};
  const foreign = proofTypes.find(
    (type) => !permitted.includes(type) && (ofMaker === null || ofMaker.includes(type)),
  );
  if (foreign !== undefined) throw notPermitted(foreign);
}

/** Only 400 judges the request itself; other 4xx are about the caller, limits or the key. */
const REFUSED = 400;

/** Of the store, and of the types and scopes of the API key, which differ between the keys of a project. */
const OF_THE_CALLER: readonly ErrorCode[] = [
  ...(['ERR_TOKEN_NOT_FOUND', 'ERR_FLYWHEEL_NOT_FOUND'] as const),
  ...(['ERR_INVALID_PROOF', 'ERR_KEY_SCOPES_UNAUTHORIZED'] as const),
];

export const isOfContent = ({ code }: { readonly code: ErrorCode }): boolean => !OF_THE_CALLER.includes(code);

/** Marks a refusal that depends only on the request's content as "key unused": every repeat is refused too, on any server. */
export const refusedByContent = (value: string | undefined, error: unknown): unknown =>
  value !== undefined && isFlywheelError(error) && error.status === REFUSED && isOfContent(error)
    ? error.with({ keyUnused: true })
    : error;

export const notPermitted = (type: string): FlywheelError =>
  new FlywheelError(
    'ERR_INVALID_PROOF',
    `The proof type ${JSON.stringify(type.slice(0, 64))} is not permitted for this key.`,
  );

/** Over the rate limit only repeats are answered, and this request is not one. */
export const noRepeat = (): FlywheelError =>
  new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'Over the rate limit.');

/**
 * Stores a new request, or takes the lease of the earlier one, whose operations must get their outcomes before new ones are made.
 * @param seen - the earlier request when the call came in.
 * @throws `ERR_IDEMPOTENCY_KEY_REUSED`; `ERR_DUPLICATE_IDEMPOTENCY_KEY`, also when another call has begun or ended it since.
 */
export async function openRequest(
  deps: EngineDeps,
  tx: StoreTransaction,
  identity: RequestIdentity,
  seen: RequestRecord | undefined,
): Promise<RequestRecord> {
  const { value = deps.ids.uuid(), call, ...owner } = identity;
  const request = whole('requests', {
    ...{ ...owner, id: deps.ids.uuid(), value, status: 'running' as const, ...newLease(deps, tx) },
    dateCreated: isoTime(tx.nowMs),
  });
  const { id: operationId, operation, tokenId, keyId } = request;
  if (await tx.requests.insert(request)) {
    if (seen !== undefined) throw justRun();
    deps.gaps.requireIn(tx, tokenId);
    call.onOperation?.(operationId);
    const requestId = call.requestId === undefined ? {} : { requestId: call.requestId };
    const begun = { operationId, event: 'begun', operation, project: tokenId, keyId, ...requestId } as const;
    tx.whenCommitted(() => tell(deps, begun));
    return request;
  }
  const earlier = await tx.requests.find({ tokenId, operation, value });
  invariant(earlier !== undefined, 'A key that is taken is that of a request.');
  requireRepeat(deps, tx, identity, earlier);
  if (seen === undefined || earlier.reply !== null) throw justRun();
  deps.gaps.requireIn(tx, tokenId);
  call.onOperation?.(earlier.id);
  return claimRequest(deps, tx, earlier);
}

export async function claimRequest(
  deps: EngineDeps,
  tx: StoreTransaction,
  request: RequestRecord,
): Promise<RequestRecord> {
  const lease = newLease(deps, tx);
  await tx.requests.take(request.id, lease);
  tx.whenCommitted(() => tell(deps, { operationId: request.id, event: 'taken over', from: request.holder }));
  return { ...request, ...lease };
}

const inUse = (message: string): FlywheelError =>
  new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', message, { retryAfterSeconds: 1 });

export const justRun = () => inUse('A request with the same idempotency key just finished.');
export const takenOver = () => inUse('Another process is running this request.');

export const waitsFor = (waiting: WaitingForChain | undefined): string =>
  waiting === undefined
    ? ''
    : `, waiting for the chain to confirm ${waiting.transactions} ${waiting.transactions === 1 ? 'transaction' : 'transactions'}, ${waiting.signature} first`;
