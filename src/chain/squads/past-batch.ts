/** A batch as its transactions tell it: what was put into it and what of that was executed, also once its accounts are closed. */

import type { Address } from '../../values/address.js';
import type { ChainReader, History, Signature, TransactionRecord } from '../chain.js';
import { batchTransactionAddress, proposalAddress, transactionAddress } from './addresses.js';
import type { BatchRef } from './builders.js';
import { decodeArguments, type InstructionName } from './instructions.js';
import type { InnerMessage } from './message.js';
import { decodeVaultMessage } from './message.js';
import { type Act, readActs } from './past-acts.js';

/** One transaction of a batch, as it was put there. */
export interface PastBatchTransaction {
  /** Place in the batch, from 1. */
  readonly number: number;
  readonly address: Address;
  /** `null`: malformed. */
  readonly message: InnerMessage | null;
  readonly ephemeralSigners: number;
  readonly added: Signature;
  /** `null`: it was not executed. */
  readonly executed: TransactionRecord | null;
}

/** The votes of the past, by kind. */
export interface PastVotes {
  readonly approved: readonly Address[];
  readonly rejected: readonly Address[];
  readonly cancelled: readonly Address[];
}

export interface PastBatch extends BatchRef {
  readonly creator: Address;
  readonly vaultIndex: number;
  readonly transactions: readonly PastBatchTransaction[];
  readonly votes: PastVotes;
}

/** Where the accounts of an instruction stand (squads-v4.md, section 7). */
const AT = {
  batchCreate: { batch: 1, creator: 2 },
  batchAddTransaction: { batch: 2, transaction: 3 },
  batchExecuteTransaction: { batch: 3, transaction: 4 },
  vaultBatchTransactionAccountClose: { batch: 2, transaction: 3 },
  vote: { member: 1, proposal: 2 },
} as const;

const VOTE_NAMES: Readonly<Record<keyof PastVotes, readonly InstructionName[]>> = {
  approved: ['proposalApprove'],
  rejected: ['proposalReject'],
  cancelled: ['proposalCancel', 'proposalCancelV2'],
};

/**
 * Reads what became of a batch from the past of the chain alone. Only transactions that succeeded count, and of them only
 * instructions that act on this very batch: its address follows from multisig and index, and the program has checked it.
 *
 * @param sinceMs - a time before the batch was made. @default as far back as the node knows
 * @returns `null` when the node has forgotten some of it, or some of it cannot be told.
 */
export async function readPastBatch(
  chain: Pick<ChainReader, 'getTransaction' | 'lookUp'>,
  history: History,
  ref: BatchRef,
  sinceMs = 0,
): Promise<PastBatch | null> {
  const { multisig, batchIndex } = ref;
  const batch = transactionAddress(multisig, batchIndex).address;
  const proposal = proposalAddress(multisig, batchIndex).address;
  const past = await readActs(chain, history, [batch, proposal], sinceMs);
  if (past === null) return null;
  const of = (name: keyof Omit<typeof AT, 'vote'>): readonly Act[] =>
    past.acts.filter((act) => act.name === name && act.accounts[AT[name].batch] === batch);
  const [made] = of('batchCreate');
  const created = made === undefined ? undefined : decodeArguments('batchCreate', made.data);
  const creator = made?.accounts[AT.batchCreate.creator];
  const executions = byTransaction(of('batchExecuteTransaction'), AT.batchExecuteTransaction.transaction);
  const added = byTransaction(of('batchAddTransaction'), AT.batchAddTransaction.transaction);
  const closed = byTransaction(
    of('vaultBatchTransactionAccountClose'),
    AT.vaultBatchTransactionAccountClose.transaction,
  );
  // Without its beginning there is no telling what else is missing.
  if (created === undefined || creator === undefined) return null;
  const transactions: PastBatchTransaction[] = [];
  for (let number = 1; number <= added.size; number += 1) {
    const { address } = batchTransactionAddress(multisig, batchIndex, number);
    const act = added.get(address);
    if (act === undefined) return null;
    const execution = executions.get(address);
    const executed = execution === undefined ? null : (past.records.get(execution.signature) ?? null);
    transactions.push({ number, address, ...contentOf(act), added: act.signature, executed });
  }
  // What was executed or closed was put there before.
  if ([...executions.keys(), ...closed.keys()].some((address) => !isKnown(added, address))) return null;
  const votes = votesOf(past.acts, proposal);
  return { multisig, batchIndex, creator, vaultIndex: created.vaultIndex, transactions, votes };
}

const byTransaction = (acts: readonly Act[], place: number): ReadonlyMap<Address | undefined, Act> =>
  new Map(acts.map((act) => [act.accounts[place], act]));

const isKnown = (added: ReadonlyMap<Address | undefined, Act>, address: Address | undefined): boolean =>
  address !== undefined && added.has(address);

function contentOf({ data }: Act): Pick<PastBatchTransaction, 'message' | 'ephemeralSigners'> {
  const given = decodeArguments('batchAddTransaction', data);
  return {
    message: (given && decodeVaultMessage(given.message)) ?? null,
    ephemeralSigners: given?.ephemeralSigners ?? 0,
  };
}

function votesOf(acts: readonly Act[], proposal: Address): PastVotes {
  const by = (kind: keyof PastVotes): readonly Address[] => {
    const own = acts.filter(
      ({ name, accounts }) =>
        name !== undefined &&
        VOTE_NAMES[kind].includes(name) &&
        accounts[AT.vote.proposal] === proposal &&
        accounts[AT.vote.member] !== undefined,
    );
    return [...new Set(own.map(({ accounts }) => accounts[AT.vote.member] as Address))];
  };
  return { approved: by('approved'), rejected: by('rejected'), cancelled: by('cancelled') };
}
