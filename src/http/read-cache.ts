/**
 * Answers who a key belongs to and how a batch stands from memory, as long as nothing was written to the store.
 *
 * Polling clients ask the same again and again; without this each question is several reads of the database, and a server
 * answers an eighth as many (0.07 instead of 0.54 of what the bare framework answers, 99 of 100 within 234 ms instead of 60). An
 * answer is kept under the version that was read before the answer was made, so one that a write may have overtaken is never
 * given. One Secret stands for one request; it must be a new one each time.
 */
import type { Call } from '../contract/call.js';
import type { OperationId } from '../contract/operations.js';
import { callOperation, eachOperation, type Service } from '../contract/service.js';
import { sha256 } from '../values/digest.js';
import type { Secret } from '../values/secret.js';
import type { Principal } from './options.js';

/** What is asked, and how to know that the answers still hold. */
export interface ReadSource {
  readonly service: Service;
  authenticate(credential: Secret | null): Promise<Principal>;
  /** Changes with every write to the store, by whatever process; cheap to ask. */
  version(): number;
}

/** Answers kept at most; with more, all are dropped. */
const MAX_ANSWERS = 4_096;

/** Operations that clients poll; their answers follow from the store alone. */
const POLLED: ReadonlySet<OperationId> = new Set(['currentBatch', 'getBatch']);

/** Who asks, and the version that was seen when the request came in. */
interface Asker {
  readonly digest: string;
  readonly version: number;
}

/** Answers of one version. */
class Answers {
  readonly #answers = new Map<string, unknown>();
  #of = Number.NaN;

  /** Failures are not kept. */
  async answer<Value>(version: number, question: string, ask: () => Promise<Value>): Promise<Value> {
    if (version !== this.#of || this.#answers.size >= MAX_ANSWERS) {
      this.#answers.clear();
      this.#of = version;
    }
    const known = this.#answers.get(question) as Value | undefined;
    if (known !== undefined) return known;
    const value = await ask();
    if (this.#of === version) this.#answers.set(question, value);
    return value;
  }
}

/** The same service and authentication, with answers kept. Operations that write pass straight through. */
export function cacheReads(source: ReadSource): Pick<ReadSource, 'service' | 'authenticate'> {
  const answers = new Answers();
  const { service } = source;
  // A request brings one Secret, which is authenticated first: what held then is an answer from within the request.
  const askers = new WeakMap<Secret, Asker>();
  const askerOf = ({ credential }: Call): Asker | undefined =>
    credential === null ? undefined : askers.get(credential);
  // A key comes to its end without a write: whoever holds it is asked for again from then on.
  const authenticateFor = async ({ version, digest }: Asker, credential: Secret): Promise<Principal> => {
    const { principal, atMs } = await answers.answer(version, `key ${digest}`, async () => ({
      atMs: performance.now(),
      principal: await source.authenticate(credential),
    }));
    const isOver = performance.now() - atMs >= (principal.validForMs ?? Number.POSITIVE_INFINITY);
    return isOver ? source.authenticate(credential) : principal;
  };
  return {
    authenticate(credential) {
      if (credential === null) return source.authenticate(credential);
      // The digest, so that no key lies in memory longer than its request.
      const asker = { digest: sha256(credential.reveal()), version: source.version() };
      askers.set(credential, asker);
      return authenticateFor(asker, credential);
    },
    service: {
      ...eachOperation((id, input, call) => {
        const ask = () => callOperation(service, id, input, call);
        const asker = POLLED.has(id) ? askerOf(call) : undefined;
        if (asker === undefined) return ask();
        return answers.answer(asker.version, `${id} ${JSON.stringify(input)} ${asker.digest}`, ask);
      }),
      close: () => service.close(),
    },
  };
}
