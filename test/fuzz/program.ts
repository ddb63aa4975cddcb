/** The fuzzer's only imports of `src`. Moving a file of `src` changes this file only. */

export type { ChainClock } from '../../src/chain/account.js';
export { type AccountState, RENT_EPOCH_EXEMPT, rentExemptLamports } from '../../src/chain/account.js';
export { encode } from '../../src/chain/codec.js';
export type { ExecutionResult } from '../../src/chain/local/runtime/execution.js';
export { resolveAccounts, tableEntry } from '../../src/chain/local/runtime/resolve.js';
export { Runtime } from '../../src/chain/local/runtime/runtime.js';
export {
  INSTRUCTION_ERROR_SENTENCES,
  INSTRUCTION_ERRORS,
  TRANSACTION_ERRORS,
} from '../../src/chain/local/vm/native.js';
export {
  ADDRESS_LOOKUP_TABLE_PROGRAM,
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../src/chain/programs.js';
export { createAccount, transfer } from '../../src/chain/small-programs.js';
export {
  ACCOUNT_SIZE,
  BATCH,
  decodeAccount,
  encodeAccount,
  MULTISIG,
  type Multisig,
  PROGRAM_CONFIG,
  PROPOSAL,
  type Proposal,
  VAULT_BATCH_TRANSACTION,
  VAULT_TRANSACTION,
} from '../../src/chain/squads/accounts.js';
export {
  associatedTokenAddress,
  batchTransactionAddress,
  ephemeralSignerAddress,
  multisigAddress,
  programConfigAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../../src/chain/squads/addresses.js';
export {
  type ArgumentsOf,
  encodeInstruction,
  type InstructionName,
  instructionName,
} from '../../src/chain/squads/instructions.js';
export { argumentMessage, storedMessageSize } from '../../src/chain/squads/message.js';
export {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  transferChecked,
} from '../../src/chain/tokens/instructions.js';
export {
  type AccountMeta,
  compile,
  type Instruction,
  instructionsOf,
  isSigner,
  isWritable,
  type Lookup,
  type Message,
  readonlySigner,
} from '../../src/chain/transaction/message.js';
export { SQUADS_ERRORS } from '../../src/chain/transaction/program-errors.js';
export { createKeypairSigner, type KeypairSigner } from '../../src/chain/transaction/sign.js';
export {
  compileLegacyMessage,
  compileV0Message,
  decodeMessage,
  decodeTransaction,
  encodeMessage,
  encodeTransaction,
  type WireMessage,
} from '../../src/chain/transaction/wire.js';
export { type Address, addressBytes, addressFromBytes } from '../../src/values/address.js';
export {
  compareBytes,
  copyBytes,
  partOf,
  type ReadonlyBytes,
  sameBytes,
  viewOf,
} from '../../src/values/bytes.js';
