/** Which transactions land, and together with which others; what each does to accounts is the runtime's to say. */
import { invariant } from '../../../errors/flywheel-error.js';
import { sameBytes } from '../../../values/bytes.js';
import type { Rejection } from '../../chain.js';
import type { AccountSource, ExecutionResult, Runtime } from '../runtime/local-runtime.js';
import { Overlay } from '../runtime/overlay.js';
import type { LedgerDraft } from './draft.js';
import type { Envelope } from './envelope.js';
import type { Landing } from './transaction-table.js';

/** What running a transaction does. */
export type Execution = ExecutionResult;

const refused = (error: string, logs: readonly string[] = []): Execution => ({
  error: { kind: 'transaction', error },
  landed: false,
  changes: new Map(),
  logs,
  computeUnits: 0n,
  feeLamports: 0n,
});

const toLanding = ({ wire, signature }: Envelope, execution: Execution): Landing => ({
  signature,
  wire,
  error: execution.error,
  changes: execution.changes,
  logs: execution.logs,
  feeLamports: execution.feeLamports,
  computeUnits: execution.computeUnits,
});

/** Takes the transactions of one call into one draft. */
export class Admission {
  readonly #draft: LedgerDraft;
  readonly #runtime: Runtime;

  constructor(draft: LedgerDraft, runtime: Runtime) {
    this.#draft = draft;
    this.#runtime = runtime;
  }

  /** Lands a transaction by itself, also as failed, unless it cannot start; `null` when it had landed before. */
  land(envelope: Envelope): Execution | null {
    if (this.#hasLanded(envelope)) return null;
    const execution = this.#execute(envelope, this.#draft);
    if (execution.landed) this.#draft.append([toLanding(envelope, execution)]);
    return execution;
  }

  /** The same; `null` when it was taken. */
  admit(envelope: Envelope, index: number): Rejection | null {
    const execution = this.land(envelope);
    return execution === null || execution.landed ? null : rejection(index, execution);
  }

  /** Lands all of a bundle without any failure, or nothing of it; `null` when it was taken. */
  admitBundle(bundle: readonly Envelope[]): Rejection | null {
    if (bundle.every((envelope) => this.#hasLanded(envelope))) return null;
    const overlay = new Overlay(this.#draft);
    const landings: Landing[] = [];
    for (const [index, envelope] of bundle.entries()) {
      const repeated = landings.some(({ signature }) => sameBytes(signature, envelope.signature));
      const execution =
        repeated || this.#hasLanded(envelope)
          ? refused('AlreadyProcessed')
          : this.#execute(envelope, overlay);
      if (execution.error !== null) return rejection(index, execution);
      for (const [address, state] of execution.changes) overlay.set(address, state);
      landings.push(toLanding(envelope, execution));
    }
    this.#draft.append(landings);
    return null;
  }

  #hasLanded({ signature }: Envelope): boolean {
    return this.#draft.hasLanded(signature);
  }

  /** Runs it, unless it has to be refused before anything runs. */
  #execute(envelope: Envelope, source: AccountSource): Execution {
    if (envelope.flaw !== null) return refused('SanitizeFailure', [envelope.flaw]);
    if (!this.#draft.isGoodBlockhash(envelope.blockhash)) return refused('BlockhashNotFound');
    return this.#runtime.execute(envelope.wire, source, this.#draft.clock());
  }
}

function rejection(index: number, { error, logs }: Execution): Rejection {
  invariant(error !== null, 'A transaction that does not land has an error.');
  return { index, error, logs };
}
