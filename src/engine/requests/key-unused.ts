/**
 * The fact "this key was not used", which lets a client forget the key of a request that was refused: when a refusal may say
 * so. It says so only where no record of the key is there after the refusal, and no other call with it was under way meanwhile.
 */
import type { Call } from '../../contract/call.js';
import type { KeyedOperationId } from '../../contract/operations.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { EngineDeps } from '../deps.js';
import type { RequestIdentity } from './requests.js';

/** Whose key it is, and of which operation. */
export type KeyPlace = Pick<RequestIdentity, 'tokenId' | 'operation' | 'value'>;

/** Only this status is a verdict on the request itself: every other 4xx is about the caller, the limits or the key. */
const REFUSED = 400;

/**
 * The error of a call that has written no record, with the fact that its key was not used, if that is so. The record of an
 * earlier try is looked for now, after the refusal, so that none can have been missed.
 */
export async function sayIfUnused(deps: EngineDeps, place: KeyPlace, error: unknown): Promise<unknown> {
  const { tokenId, operation, value } = place;
  if (value === undefined || !isFlywheelError(error) || error.status !== REFUSED) return error;
  // A store that could not write may have written after all.
  if (isFlywheelError(error, 'ERR_CREATE_API_EVENT_FAILED')) return error;
  try {
    const earlier = await deps.store.read((tx) => tx.requests.find(tokenId, operation, value));
    return earlier === undefined ? error.with({ keyUnused: true }) : error;
  } catch {
    // What cannot be looked up is not claimed; the refusal stands.
    return error;
  }
}

/** Does what comes before a call's first record; a refusal there says whether the key was not used. */
export async function beforeRecord<Result>(
  deps: EngineDeps,
  place: KeyPlace,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw await sayIfUnused(deps, place, error);
  }
}

/** A call that brings a key. */
interface KeyedCall {
  isAlone: boolean;
}

/**
 * The calls of one engine by the key that they bring. A try that has not written its record yet cannot be found, so that of
 * calls with one key at the same time none may say that it was not used. Tries that wait outside of the engine, on their way
 * or in another process, are beyond its sight.
 */
export class KeysInFlight {
  readonly #calls = new Map<string, Set<KeyedCall>>();

  async run<Result>(
    operation: KeyedOperationId,
    { idempotencyKey }: Pick<Call, 'idempotencyKey'>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (idempotencyKey === undefined) return work();
    // A UUID is one key in any case; that other keys are taken together too only makes fewer refusals say so.
    const name = `${operation} ${idempotencyKey.toLowerCase()}`;
    const calls = this.#calls.get(name) ?? new Set();
    const mine: KeyedCall = { isAlone: calls.size === 0 };
    for (const other of calls) other.isAlone = false;
    this.#calls.set(name, calls.add(mine));
    try {
      return await work();
    } catch (error) {
      const isSaid = isFlywheelError(error) && error.options.keyUnused === true;
      throw isSaid && !mine.isAlone ? error.with({ keyUnused: false }) : error;
    } finally {
      calls.delete(mine);
      if (calls.size === 0) this.#calls.delete(name);
    }
  }
}
