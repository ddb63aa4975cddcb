/** A batch with what it acts on, and what is done to it besides its set-up and execution. */
import {
  batchAccountsClose,
  vaultBatchTransactionAccountClose,
} from '../../chain/squads/instructions/batch.js';
import { proposalApprove } from '../../chain/squads/instructions/proposal.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import type { Signer } from '../../chain/transaction/signer.js';
import type { BatchRecord, FlywheelRecord, TokenRecord } from '../../store/records.js';
import type { Address } from '../../values/address.js';

/** Whose batch it is. */
export interface BatchScene {
  readonly token: TokenRecord;
  readonly flywheel: FlywheelRecord;
  /** Signs and pays for everything but the owner's approval. */
  readonly operator: Signer;
}

/** Closing instructions that one transaction holds: 45 bytes each beside the 300 that all share. */
const CLOSES_PER_TRANSACTION = 16;

/** The vault messages of a batch in argument form, in order. */
export const messages = (batch: BatchRecord): readonly Uint8Array[] =>
  batch.pipelines.map(({ message }) => Buffer.from(message, 'base64'));

/** The operator's own approval. */
export const approveInstructions = (scene: BatchScene, batchIndex: bigint): readonly Instruction[] => [
  proposalApprove({ multisig: scene.flywheel.multisig, member: scene.operator.address, batchIndex }),
];

/** Closes the accounts of a batch of `size` transactions, last first, and sends their rent to the multisig's collector. */
export function closeTransactions(
  { flywheel: { multisig } }: BatchScene,
  batch: BatchRecord,
  size: number,
  rentCollector: Address,
): readonly (readonly Instruction[])[] {
  const common = { multisig, batchIndex: batch.batchIndex, rentCollector };
  const closes: Instruction[] = [];
  for (let number = size; number > 0; number -= 1)
    closes.push(vaultBatchTransactionAccountClose({ ...common, number }));
  closes.push(batchAccountsClose(common));
  const transactions: Instruction[][] = [];
  for (let from = 0; from < closes.length; from += CLOSES_PER_TRANSACTION) {
    transactions.push(closes.slice(from, from + CLOSES_PER_TRANSACTION));
  }
  return transactions;
}
