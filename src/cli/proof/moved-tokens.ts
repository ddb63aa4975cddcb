/** What a landed transaction moved for one proof: told from its own instructions, and from the batches that it executed. */
import { isMemo } from '../../actions/memo.js';
import { describeInstruction, type Operation } from '../../actions/registry.js';
import { type PastDescription, readPastContent } from '../../approval/past-content.js';
import type { ChainReader, History, TransactionRecord } from '../../chain/chain.js';
import { COMPUTE_BUDGET_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../chain/programs.js';
import { transactionAddress } from '../../chain/squads/addresses.js';
import { instructionName } from '../../chain/squads/instructions.js';
import { readMultisig } from '../../chain/squads/read-accounts.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import type { Address } from '../../values/address.js';
import { parseProofMemo } from './landed-memo.js';

/** Operations of one transaction on chain, or of one of a batch, in their order. */
type Sequence = readonly Operation[];

/** What was done for the proof, and all that the transaction did; or why that cannot be told, without a full stop. */
export type Told = { readonly ofProof: Sequence; readonly all: Sequence } | { readonly untold: string };

/** A transaction that has landed and succeeded, and where its past is read. */
export interface Landed {
  readonly chain: ChainReader;
  readonly history: History;
  readonly wire: Uint8Array;
  readonly record: TransactionRecord;
}

/** Tells what was done for the proof with this hash. */
export async function readMoved(landed: Landed, hash: string): Promise<Told> {
  const instructions = ownInstructions(landed);
  if (instructions === undefined)
    return { untold: 'it uses a lookup table, and the node does not say which accounts' };
  const own: Operation[] = [];
  const sequences: Sequence[] = [own];
  for (const instruction of instructions) {
    if (MOVES_NO_TOKENS.has(instruction.program)) continue;
    if (instruction.program !== SQUADS_PROGRAM) {
      own.push(describeInstruction(instruction));
      continue;
    }
    const executed = await executedBy(landed, instruction);
    if (typeof executed === 'string') return { untold: executed };
    sequences.push(executed);
  }
  const all = sequences.flat();
  const unknown = all.find((operation) => operation.kind === 'unknown');
  if (unknown?.kind === 'unknown')
    return { untold: `it calls the program ${unknown.program} in an unknown way` };
  return { ofProof: sequences.flatMap((sequence) => sectionsOf(sequence, hash)), all };
}

const MOVES_NO_TOKENS: ReadonlySet<Address> = new Set([COMPUTE_BUDGET_PROGRAM, SYSTEM_PROGRAM]);

/** `undefined`: it names an account that nobody tells. */
function ownInstructions({ wire, record }: Landed): readonly Instruction[] | undefined {
  const { staticKeys, instructions } = decodeTransaction(wire).message;
  const keys = [...staticKeys, ...(record.tableAddresses ?? [])];
  const found: Instruction[] = [];
  for (const { programIndex, accountIndexes, data } of instructions) {
    const program = keys[programIndex];
    // What an account may be used for is not asked: the transaction has succeeded.
    const accounts = Array.from(accountIndexes, (index) => keys[index]).flatMap((address) =>
      address === undefined ? [] : [{ address, signer: false, writable: false }],
    );
    if (program === undefined || accounts.length < accountIndexes.length) return undefined;
    found.push({ program, accounts, data });
  }
  return found;
}

/** Places among the accounts of batchExecuteTransaction (squads-v4.md, section 7). */
const [MULTISIG, BATCH, TRANSACTION] = [0, 3, 4];

/** What the multisig program ran for one of its instructions, or why that cannot be told. */
async function executedBy(landed: Landed, { accounts, data }: Instruction): Promise<Sequence | string> {
  const name = instructionName(data);
  if (name === undefined || name === 'vaultTransactionExecute')
    return 'it calls the multisig program for something other than a batch';
  if (name !== 'batchExecuteTransaction') return [];
  const at = (place: number): Address | undefined => accounts[place]?.address;
  const [multisig, batch, transaction] = [at(MULTISIG), at(BATCH), at(TRANSACTION)];
  const past =
    multisig === undefined || batch === undefined ? null : await pastOfBatch(landed, multisig, batch);
  const found = past?.transactions.findIndex(({ address }) => address === transaction) ?? -1;
  if (past == null || past.executions[found]?.signature !== landed.record.signature)
    return 'it executed part of a batch whose full history the node does not have';
  return past.transactions[found]?.operations ?? [];
}

/** Batches of a multisig, from the newest back, among which one is looked for by its address. */
const MAX_TRIED = 10_000n;

async function pastOfBatch(
  { chain, history }: Landed,
  multisig: Address,
  batch: Address,
): Promise<PastDescription | null> {
  const newest = (await readMultisig(chain, multisig)).value?.transactionIndex ?? 0n;
  for (let batchIndex = newest; batchIndex > 0n && batchIndex > newest - MAX_TRIED; batchIndex -= 1n)
    if (transactionAddress(multisig, batchIndex).address === batch)
      return readPastContent(chain, history, { multisig, batchIndex });
  return null;
}

const proofOf = (operation: Operation): string | undefined =>
  isMemo(operation) ? parseProofMemo(operation.text)?.hash : undefined;

/** What a proof stands for goes from its memo to that of the next; a memo that stands alone is about the whole. */
function sectionsOf(sequence: Sequence, hash: string): Sequence {
  const proofs = sequence.flatMap((operation) => proofOf(operation) ?? []);
  if (proofs.length === 1) return proofs[0] === hash ? sequence : [];
  let current: string | undefined;
  return sequence.filter((operation) => {
    current = proofOf(operation) ?? current;
    return current === hash;
  });
}
