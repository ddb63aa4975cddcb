/** A batch without engine, store and ledger: builds, signs and runs its planned transactions over accounts in memory. */
import type { AccountState } from '../../../src/chain/account.js';
import { Runtime } from '../../../src/chain/local/runtime/runtime.js';
import { proposalApprove } from '../../../src/chain/squads/builders.js';
import type { Instruction } from '../../../src/chain/transaction/message.js';
import { createKeypairSigner, type KeypairSigner } from '../../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../../src/chain/transaction/wire.js';
import { closeTransactions } from '../../../src/engine/batches/batch-context.js';
import { executeTransactions, setupTransactions } from '../../../src/engine/batches/plan-batch.js';
import type { BatchRecord, ProjectRecord } from '../../../src/store/records.js';
import type { Address } from '../../../src/values/address.js';
import { signTransaction } from '../../support/chain.js';

/** Inputs of the transactions. */
export interface BareBatch {
  readonly flywheel: Pick<ProjectRecord, 'multisig' | 'operator' | 'vaultIndex' | 'vault'>;
  readonly batchIndex: bigint;
  readonly blockhash: string;
  /** Receives the rent of the batch's accounts; `null`: the accounts stay open. */
  readonly rentCollector: Address | null;
  readonly operator: Uint8Array;
  readonly owner: Uint8Array;
  /** Vault messages in argument form. */
  readonly messages: readonly Uint8Array[];
  readonly accounts: readonly (readonly [Address, AccountState | null])[];
}

const CLOCK = { slot: 1n, epoch: 0n, unixTimestamp: 1n };

function machine({ blockhash, accounts }: BareBatch) {
  const runtime = new Runtime();
  const states = new Map(accounts);
  const source = { get: (address: Address) => states.get(address) ?? null };
  return (instructions: readonly Instruction[], signer: KeypairSigner): void => {
    const message = compileLegacyMessage({ payer: signer.address, instructions, blockhash });
    const signed = signTransaction(message, [signer]);
    const { changes, error } = runtime.execute(signed.bytes, source, CLOCK);
    if (error !== null) throw new Error(`A bare transaction failed: ${JSON.stringify(error)}`);
    for (const [address, state] of changes) states.set(address, state);
  };
}

/** Loads the runtime. @returns a function that runs all transactions. */
export function openBareBatch(batch: BareBatch): () => void {
  const { flywheel, rentCollector, batchIndex, messages } = batch;
  const [operator, owner] = [createKeypairSigner(batch.operator), createKeypairSigner(batch.owner)];
  const place = { flywheel, batchIndex };
  const approvalOf = ({ address: member }: KeypairSigner) => [
    proposalApprove({ multisig: flywheel.multisig, batchIndex, member }),
  ];
  const run = machine(batch);
  return () => {
    for (const instructions of setupTransactions(place, messages)) run(instructions, operator);
    run(approvalOf(owner), owner);
    run(approvalOf(operator), operator);
    for (const instructions of executeTransactions(place, messages)) run(instructions, operator);
    if (rentCollector === null) return;
    const record = { batchIndex } as BatchRecord;
    for (const instructions of closeTransactions(flywheel, record, messages.length, rentCollector))
      run(instructions, operator);
  };
}
