/**
 * Idempotency: the first result of a request wins, a repeat gets it again, and a request that its engine did not finish is
 * carried on by the next call that brings it (contract, section 1.4).
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
import type { EngineDeps } from './deps.js';
import { tellWritten } from './events.js';
import { isWorkedOn, newLease } from './lease.js';
import type { Principal } from './operation.js';

/** What identifies a request, before anything is known of it. */
export interface RequestIdentity {
  /** Whose key value it is: the project's. */
  readonly tokenId: string;
  readonly keyId: string;
  readonly operation: KeyedOperationId;
  /** The idempotency key; `undefined` makes every call a request of its own. */
  readonly value: string | undefined;
  readonly fingerprint: Sha256;
  readonly call: Pick<Call, 'requestId' | 'onOperation'>;
}

/** What was found with the same key has to be the same request, and nobody may be at it. @throws `ERR_IDEMPOTENCY_KEY_REUSED`, `ERR_DUPLICATE_IDEMPOTENCY_KEY` */
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

/** A stored answer as it was given, down to the digits of numbers in proofs that no double can carry. */
export const readReply = (reply: string): unknown =>
  parseStrictJson(reply, { maxDepth: Number.POSITIVE_INFINITY }).value;

/**
 * What was done is the project's, whichever of its keys asked for it; a key that is limited to some proof types gets the answer,
 * or carries the request on, only where it may use every type that the maker of the request could. What that one was refused tells
 * nothing, so a key that took the maker's place gets all that it got.
 * @param proofTypes - that the request is about. @throws `ERR_INVALID_PROOF`
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

/** Only this status is a verdict on the request itself: every other 4xx is about the caller, the limits or the key. */
const REFUSED = 400;

/** Of those with this status, what is said of the store: whatever is registered meanwhile is found by another try. */
const OF_THE_STORE: readonly ErrorCode[] = ['ERR_TOKEN_NOT_FOUND', 'ERR_FLYWHEEL_NOT_FOUND'];

/**
 * A refusal that a request earns by its content alone, whatever store and chain say: every other try with it is refused as well, on
 * any server, so that it may say that its key was not used.
 */
export const refusedByContent = (value: string | undefined, error: unknown): unknown =>
  value !== undefined &&
  isFlywheelError(error) &&
  error.status === REFUSED &&
  !OF_THE_STORE.includes(error.code)
    ? error.with({ keyUnused: true })
    : error;

export const notPermitted = (type: string): FlywheelError =>
  new FlywheelError(
    'ERR_INVALID_PROOF',
    `The proof type ${JSON.stringify(type.slice(0, 64))} is not permitted for this key.`,
  );

/** Over the limit of fresh requests a repeat is still answered; this was none. */
export const noRepeat = (): FlywheelError =>
  new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'Over the rate limit.');

/**
 * Opens a request inside a write transaction: a new record, or the takeover of an unfinished one.
 * @returns `undefined` for one that has its answer. Of one that is not fresh, the operations are to be resolved before new ones are
 *   made: an engine died, or gave up, while working on it.
 * @throws `ERR_IDEMPOTENCY_KEY_REUSED`, `ERR_DUPLICATE_IDEMPOTENCY_KEY`
 */
export async function openRequest(
  deps: EngineDeps,
  tx: StoreTransaction,
  identity: RequestIdentity,
): Promise<{ readonly request: RequestRecord; readonly isFresh: boolean } | undefined> {
  const { value = deps.ids.uuid(), call, ...owner } = identity;
  const request = whole('requests', {
    ...{ ...owner, id: deps.ids.uuid(), value, status: 'running' as const, ...newLease(deps, tx) },
    dateCreated: isoTime(tx.nowMs),
  });
  const { id: operationId, operation, tokenId, keyId } = request;
  // Nearly always it is the first with its key: then nothing is looked for.
  if (await tx.requests.insert(request)) {
    deps.gaps.requireIn(tx, tokenId);
    call.onOperation?.(operationId);
    const requestId = call.requestId === undefined ? {} : { requestId: call.requestId };
    tellWritten(deps, tx, {
      ...{ operationId, event: 'begun', operation, project: tokenId, keyId, ...requestId },
    });
    return { request, isFresh: true };
  }
  const earlier = await tx.requests.find({ tokenId, operation, value });
  invariant(earlier !== undefined, 'A key that is taken is that of a request.');
  requireRepeat(deps, tx, identity, earlier);
  if (earlier.reply !== null) return undefined;
  deps.gaps.requireIn(tx, tokenId);
  call.onOperation?.(earlier.id);
  return { request: await claimRequest(deps, tx, earlier), isFresh: false };
}

export async function claimRequest(
  deps: EngineDeps,
  tx: StoreTransaction,
  request: RequestRecord,
): Promise<RequestRecord> {
  const lease = newLease(deps, tx);
  await tx.requests.take(request.id, lease);
  tellWritten(deps, tx, { operationId: request.id, event: 'taken over', from: request.holder });
  return { ...request, ...lease };
}

const inUse = (message: string): FlywheelError =>
  new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', message, { retryAfterSeconds: 1 });

/** Another call with the key was faster; its answer is there for the next try. */
export const justRun = () => inUse('A request with the same idempotency key just finished.');
export const takenOver = () => inUse('Another process is running this request.');

/** What is waited for, to be read after what waits; nothing where that is not known. */
export const waitsFor = (waiting: WaitingForChain | undefined): string =>
  waiting === undefined
    ? ''
    : `, waiting for the chain to confirm ${waiting.transactions} ${waiting.transactions === 1 ? 'transaction' : 'transactions'}, ${waiting.signature} first`;
