/** The bundles of a phase as they are signed: which messages, under which terms, and whether an earlier run has signed the same. */
import type { Chain } from '../../chain/chain.js';
import { compileLegacyMessage, signTransactions, transactionSize } from '../../chain/transaction/compile.js';
import type { BundleRecord, BundleStatus } from '../../store/records.js';
import { sameBytes } from '../../values/bytes.js';
import type { EngineDeps } from '../deps.js';
import { type SigningTerms, signingTerms, withBudget } from '../signing-terms.js';
import { bundleId, type PhaseInput } from './phase.js';

/** A bundle that is not signed yet. */
export interface Step {
  /** Index within the phase of its first transaction. */
  readonly first: number;
  readonly messages: readonly Uint8Array[];
}

type Steps = Pick<PhaseInput, 'signer' | 'transactions' | 'offset'>;

/** What is signed with now, beginning with this transaction. */
export function termsFrom(
  chain: Chain,
  { signer, transactions, offset = 0 }: Steps,
  first: number,
): Promise<SigningTerms> {
  const sample = { payer: signer.address, instructions: transactions[first - offset] ?? [] };
  return signingTerms(chain, sample);
}

/** The bundle of at most so many transactions that begins with this one, not signed yet. */
export function stepFrom(
  { signer, transactions, offset = 0 }: Steps,
  first: number,
  terms: SigningTerms,
  count: number,
): Step {
  const { blockhash, sample } = terms;
  const from = first - offset;
  const messages = transactions.slice(from, from + count).map((own) => {
    const instructions = withBudget(own, terms, own === sample?.instructions ? sample.units : undefined);
    return compileLegacyMessage({ payer: signer.address, instructions, blockhash });
  });
  return { first, messages };
}

/** Signs bundles, all of them at once. */
export async function signSteps(
  { ids }: Pick<EngineDeps, 'ids'>,
  { batchId, phase, signer }: Pick<PhaseInput, 'batchId' | 'phase' | 'signer'>,
  steps: readonly Step[],
  { lastValidBlockHeight }: SigningTerms,
): Promise<readonly BundleRecord[]> {
  const named = steps.map((step) => ({ ...step, id: ids.uuid() }));
  const signed = await signTransactions(
    named.flatMap(({ messages }) => messages),
    signer,
  );
  let from = 0;
  return named.map(({ id, first, messages: { length } }): BundleRecord => {
    const transactions = signed.slice(from, from + length);
    from += length;
    return {
      id,
      batchId,
      phase,
      first,
      bundleId: bundleId(transactions.map(({ signature }) => signature)),
      transactions,
      lastValidBlockHeight,
      status: 'PENDING',
      errorMessage: null,
      failedTransaction: null,
    };
  });
}

/** The same messages as an earlier run has signed them. */
export const storedAs = (
  { stored }: Pick<PhaseInput, 'stored'>,
  { messages }: Step,
  status: BundleStatus,
): BundleRecord | undefined =>
  stored.find(
    (bundle) =>
      bundle.status === status &&
      bundle.transactions.length === messages.length &&
      bundle.transactions.every(({ bytes }, at) => carries(bytes, messages[at] as Uint8Array)),
  );

/** Is this the message of a signed transaction? It is what the bytes end with. */
const carries = (bytes: Uint8Array, message: Uint8Array): boolean =>
  bytes.length === transactionSize(message) &&
  sameBytes(bytes.subarray(bytes.length - message.length), message);
