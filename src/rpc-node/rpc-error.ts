/** The JSON-RPC errors of a Solana node, with their standard codes. */
import type { TransactionError } from '../chain/chain.js';
import type { ExecutionResult } from '../chain/local/runtime/execution.js';

export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

export const parseError = (): RpcError => new RpcError(-32_700, 'Parse error');
export const invalidRequest = (message = 'Invalid request'): RpcError => new RpcError(-32_600, message);
export const methodNotFound = (): RpcError => new RpcError(-32_601, 'Method not found');
export const invalidParams = (message: string): RpcError => new RpcError(-32_602, message);
export const internalError = (): RpcError => new RpcError(-32_603, 'Internal error');

export const blockCleanedUp = (slot: number, first: number): RpcError =>
  new RpcError(-32_001, `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`);

export const signatureFailed = (): RpcError =>
  new RpcError(-32_003, 'Transaction signature verification failure');

export const blockNotAvailable = (slot: number): RpcError =>
  new RpcError(-32_004, `Block not available for slot ${slot}`);

export const versionNotSupported = (version: number): RpcError =>
  new RpcError(
    -32_015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  );

export const contextSlotNotReached = (contextSlot: number): RpcError =>
  new RpcError(-32_016, 'Minimum context slot has not been reached', { contextSlot });

/** Messages of errors before execution (solana-transaction-error, `Display`). */
const SENTENCES: Readonly<Record<string, string>> = {
  AccountLoadedTwice: 'Account loaded twice',
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  ProgramAccountNotFound: 'Attempt to load a program that does not exist',
  InsufficientFundsForFee: 'Insufficient funds for fee',
  InvalidAccountForFee: 'This account may not be used to pay transaction fees',
  AlreadyProcessed: 'This transaction has already been processed',
  BlockhashNotFound: 'Blockhash not found',
  SignatureFailure: 'Transaction did not pass signature verification',
  InvalidProgramForExecution: 'This program may not be used for executing instructions',
  SanitizeFailure: 'Transaction failed to sanitize accounts offsets correctly',
  AddressLookupTableNotFound: 'Transaction loads an address table account that doesn’t exist',
};

export function errorJson(error: TransactionError | null): unknown {
  if (error === null) return null;
  if (error.kind === 'instruction') {
    return { InstructionError: [error.index, 'custom' in error ? { Custom: error.custom } : error.error] };
  }
  if (error.accountIndex === undefined) return error.error;
  if (error.error === 'DuplicateInstruction') return { DuplicateInstruction: error.accountIndex };
  return { [error.error]: { account_index: error.accountIndex } };
}

const FAILED_LINE = /^Program \S+ failed: (.*)$/;

function sentenceOf(error: TransactionError, logs: readonly string[]): string {
  if (error.kind === 'transaction') return SENTENCES[error.error] ?? error.error;
  const said = logs.map((line) => FAILED_LINE.exec(line)?.[1]).findLast((text) => text !== undefined);
  const reason = 'custom' in error ? `custom program error: 0x${error.custom.toString(16)}` : error.error;
  return `Error processing Instruction ${error.index}: ${said ?? reason}`;
}

export const preflightFailed = (error: TransactionError, run: ExecutionResult): RpcError =>
  new RpcError(-32_002, `Transaction simulation failed: ${sentenceOf(error, run.logs)}`, {
    err: errorJson(error),
    logs: run.logs,
    accounts: null,
    unitsConsumed: run.computeUnits,
    returnData: null,
    innerInstructions: null,
    replacementBlockhash: null,
  });
