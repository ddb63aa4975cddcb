/**
 * Transactions sent to a cluster: first to one node, then every two seconds to all nodes until the caller reports the outcome.
 */
import { type FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { inParallel } from '../../values/event-loop.js';
import type { Clock } from '../../values/time.js';
import type { Rejection, Signature } from '../chain.js';
import { decodeTransaction, signatureOf } from '../transaction/wire.js';
import type { NodePool } from './node-pool.js';
import * as questions from './questions.js';

const RESEND_MS = 2_000;
const SEND_TIMEOUT_MS = 5_000;
const MAX_SENDINGS = 32;

interface Sent {
  readonly wire: Uint8Array;
  sentMs: number;
}

/** Transactions of one kind have the same accounts in the same instructions; amounts, texts and limits may differ. */
function kindOf(wire: Uint8Array): string {
  const { staticKeys, instructions } = decodeTransaction(wire).message;
  const calls = instructions.map(({ programIndex, accountIndexes }) => [programIndex, ...accountIndexes]);
  return JSON.stringify([staticKeys, calls]);
}

export function createOutgoing(pool: NodePool, clock: Clock) {
  const known = new Map<Signature, Sent>();

  /** The first of each kind is simulated; if it is refused, the others of its kind are simulated too. */
  async function refusalsOf(wires: readonly Uint8Array[], minContextSlot: number) {
    const kinds = new Map<string, Uint8Array[]>();
    for (const wire of wires) kinds.set(kindOf(wire), [...(kinds.get(kindOf(wire)) ?? []), wire]);
    const refusals = new Map<Uint8Array, Omit<Rejection, 'index'>>();
    const tryOut = async (wire: Uint8Array): Promise<void> => {
      const { messageBytes } = decodeTransaction(wire);
      const trial = questions.trial(messageBytes);
      const { refusal } = await pool.one(trial, { minContextSlot });
      if (refusal === null) return;
      // No single node of a quorum refuses.
      const voices = pool.quorum === 1 ? [] : await pool.ask(trial, { minContextSlot });
      if (voices.every(({ value }) => value.refusal !== null)) refusals.set(wire, refusal);
    };
    await inParallel([...kinds.values()], MAX_SENDINGS, async ([first, ...others]) => {
      if (first === undefined) return;
      await tryOut(first);
      if (refusals.has(first)) await inParallel(others, MAX_SENDINGS, tryOut);
    });
    return refusals;
  }

  /** @returns why no node accepted the transaction */
  async function sendFirst(wire: Uint8Array): Promise<FlywheelError | null> {
    known.set(signatureOf(decodeTransaction(wire)), { wire, sentMs: clock.nowMs() });
    try {
      await pool.one(questions.send(wire), { tryMs: SEND_TIMEOUT_MS });
      return null;
    } catch (error) {
      // A node with an unreadable answer may have accepted the transaction; a look-up will tell.
      if (isFlywheelError(error, 'ERR_RESPONSE_INVALID')) return null;
      if (isFlywheelError(error) && error.code !== 'ERR_INTERRUPTED') return error;
      throw error;
    }
  }

  return {
    /**
     * Sends transactions for the first time, or again.
     * @param areNew - per transaction, whether it has certainly never been sent. New ones are simulated without signatures. A
     * refused one is not sent, so it can never land.
     * @param minContextSlot - the newest known slot.
     * @throws the first error, if no node accepted any transaction.
     */
    async submit(
      wires: readonly Uint8Array[],
      areNew: readonly boolean[],
      minContextSlot: number,
    ): Promise<readonly (Rejection | null)[]> {
      const refusals = await refusalsOf(
        wires.filter((_, index) => areNew[index] === true),
        minContextSlot,
      );
      const problems: FlywheelError[] = [];
      const receipt = await inParallel(wires, MAX_SENDINGS, async (wire, index) => {
        const refusal = refusals.get(wire);
        if (refusal !== undefined) return { index, ...refusal };
        const problem = await sendFirst(wire);
        if (problem !== null) problems.push(problem);
        return null;
      });
      const [first] = problems;
      if (first !== undefined && problems.length === receipt.filter((entry) => entry === null).length)
        throw first;
      return receipt;
    },

    /** Resends the due transactions to all nodes. Errors are ignored: the next resend may succeed. */
    async resend(signatures: readonly Signature[]): Promise<void> {
      const nowMs = clock.nowMs();
      const due = signatures.flatMap((signature) => {
        const sent = known.get(signature);
        return sent !== undefined && nowMs - sent.sentMs >= RESEND_MS ? [sent] : [];
      });
      for (const sent of due) sent.sentMs = nowMs;
      await inParallel(due, MAX_SENDINGS, ({ wire }) => pool.askAll(questions.send(wire), SEND_TIMEOUT_MS));
    },

    forget: (signature: Signature): void => void known.delete(signature),
  };
}
