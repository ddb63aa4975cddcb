/** The Squads v4 program, native: finds the instruction and runs it (squads-v4.md, section 4, steps 1 and 2). */
import { UNSUPPORTED_INSTRUCTION } from '../../chain.js';
import {
  decodeArguments,
  IDENTIFIER_BYTES,
  INSTRUCTIONS,
  type InstructionName,
  instructionName,
} from '../../squads/layouts/instructions.js';
import { unsupportedInstruction } from '../../transaction/program-errors.js';
import { InstructionFailure } from '../runtime/failure.js';
import type { Invocation } from '../runtime/invocation.js';
import { batchAddTransaction } from './batch-add-transaction.js';
import { batchCreate } from './batch-create.js';
import { batchExecuteTransaction } from './batch-execute-transaction.js';
import { batchAccountsClose, vaultTransactionAccountsClose } from './close-accounts.js';
import { vaultBatchTransactionAccountClose } from './close-batch-transaction.js';
import type { AnyDefinition } from './definition.js';
import { fail } from './errors.js';
import { missingInstruction } from './missing-instructions.js';
import { multisigCreate, multisigCreateV2 } from './multisig-create.js';
import { proposalActivate } from './proposal-activate.js';
import { proposalCreate } from './proposal-create.js';
import { proposalApprove, proposalCancel, proposalCancelV2, proposalReject } from './proposal-vote.js';
import { runInstruction } from './run-instruction.js';
import { vaultTransactionCreate, vaultTransactionExecute } from './vault-transaction.js';

/** In the order of section 7. */
const DEFINITIONS: Readonly<Record<InstructionName, AnyDefinition>> = {
  multisigCreate,
  multisigCreateV2,
  batchCreate,
  proposalCreate,
  batchAddTransaction,
  proposalActivate,
  proposalApprove,
  proposalReject,
  proposalCancel,
  proposalCancelV2,
  batchExecuteTransaction,
  vaultTransactionCreate,
  vaultTransactionExecute,
  vaultBatchTransactionAccountClose,
  batchAccountsClose,
  vaultTransactionAccountsClose,
};

/** Ends an instruction that is none of these: a slip of the caller, or one that only the real program has (section 7.14). */
function refuse(invocation: Invocation): never {
  const missing = missingInstruction(invocation.data);
  if (missing === undefined) fail(invocation, 'InstructionFallbackNotFound');
  invocation.log(`Instruction: ${missing}`);
  invocation.log(
    `${unsupportedInstruction(missing)}; flywheel local init --squads-program FILE runs the program itself.`,
  );
  throw new InstructionFailure({ error: UNSUPPORTED_INSTRUCTION });
}

/** Runs one instruction of the program. @throws InstructionFailure */
export function runSquads(invocation: Invocation): void {
  if (invocation.data.length < IDENTIFIER_BYTES) fail(invocation, 'InstructionMissing');
  const name = instructionName(invocation.data);
  if (name === undefined) refuse(invocation);
  invocation.log(`Instruction: ${INSTRUCTIONS[name].logName}`);
  const args = decodeArguments(name, invocation.data);
  if (args === undefined) fail(invocation, 'InstructionDidNotDeserialize');
  runInstruction(DEFINITIONS[name], args, invocation);
}
