/**
 * Answers who a key belongs to and how a batch stands from memory, as long as nothing was written to the store.
 *
 * One Secret stands for one request; it must be a new one each time. Polling clients ask the same again and again; without this each question is several reads of the database. An answer is
 * kept under the version that was read before the answer was made, so one that a write may have overtaken is never given.
 */
import type { Call, Reply } from '../contract/call.js';
import type { Batch } from '../contract/schemas/batch.js';
import type { Service } from '../contract/service.js';
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

/** Answers kept at most; with more, all are forgotten. */
const MAX_REMEMBERED = 4_096;

/** Who asks, and the version that was seen when the request came in. */
interface Asker {
  readonly digest: string;
  readonly version: number;
}

/** Answers of one version. */
class Memory {
  readonly #answers = new Map<string, unknown>();
  #of = Number.NaN;

  /** Failures are not kept. */
  async answer<Value>(version: number, question: string, ask: () => Promise<Value>): Promise<Value> {
    if (version !== this.#of || this.#answers.size >= MAX_REMEMBERED) {
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

/** The same service and authentication, remembering. Operations that write pass straight through. */
export function rememberReads(source: ReadSource): Pick<ReadSource, 'service' | 'authenticate'> {
  const memory = new Memory();
  const { service } = source;
  // A request brings one Secret, which is authenticated first: what held then is an answer from within the request.
  const askers = new WeakMap<Secret, Asker>();
  const ask = (
    { credential }: Pick<Call, 'credential'>,
    question: string,
    read: () => Promise<Reply<Batch | null>>,
  ): Promise<Reply<Batch | null>> => {
    const asker = credential === null ? undefined : askers.get(credential);
    return asker === undefined ? read() : memory.answer(asker.version, `${question} ${asker.digest}`, read);
  };
  return {
    authenticate(credential) {
      if (credential === null) return source.authenticate(credential);
      // The digest, so that no key lies in memory longer than its request.
      const asker = { digest: sha256(credential.reveal()), version: source.version() };
      askers.set(credential, asker);
      return memory.answer(asker.version, `key ${asker.digest}`, () => source.authenticate(credential));
    },
    service: {
      burn: (input, call) => service.burn(input, call),
      burnBatch: (input, call) => service.burnBatch(input, call),
      initBatch: (input, call) => service.initBatch(input, call),
      executeBatch: (input, call) => service.executeBatch(input, call),
      currentBatch: (call) => ask(call, 'current', () => service.currentBatch(call)),
      getBatch: (input, call) =>
        ask(call, `batch ${input.batchId}`, () => service.getBatch(input, call)) as Promise<Reply<Batch>>,
      listBatches: (input, call) => service.listBatches(input, call),
      batchPipelines: (input, call) => service.batchPipelines(input, call),
      issueApproval: (input, call) => service.issueApproval(input, call),
      cancelBatch: (input, call) => service.cancelBatch(input, call),
      close: () => service.close(),
    },
  };
}
