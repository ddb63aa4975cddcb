/**
 * Idempotency: the first result of a request wins, a repeat returns it, and the next call with the key resumes an unfinished
 * request (contract, section 1.4).
 */
import type { Call, WaitingForChain } from '../contract/call.js';
import type { KeyedOperationId } from '../contract/operations.js';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError, invariant, isFlywheelError } from '../errors/flywheel-error.js';
import type { RequestRecord } from '../store/records.js';
import { whole } from '../store/schema.js';
import type { StoreTransaction } from '../store/store.js';
import type { Sha256 } from '../values/digest.js';
import { parseStrictJson } from '../values/strict-json.js';
import { isoTime } from '../values/time.js';
import { type EngineDeps, tell } from './deps.js';
import { isWorkedOn, newLease } from './lease.js';
import type { Principal } from './operation.js';

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
export function requireRepeat(
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
export const readReply = (reply: string): unknown =>
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
