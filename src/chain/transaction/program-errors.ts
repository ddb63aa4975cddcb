/** A failed transaction in a sentence for people: known numbers of the programs that this project calls, by name. */
import { type TransactionError, UNSUPPORTED_INSTRUCTION } from '../chain.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.js';

// https://github.com/solana-program/token/blob/main/interface/src/error.rs
const TOKEN_ERRORS: Readonly<Record<number, string>> = {
  0: 'the account is not rent-exempt',
  1: 'insufficient funds',
  3: 'the account belongs to another mint',
  4: 'the owner does not match',
  17: 'the account is frozen',
  18: 'the decimals do not match the mint',
};

// https://github.com/solana-program/system/blob/main/interface/src/error.rs
const SYSTEM_ERRORS: Readonly<Record<number, string>> = {
  0: 'the account is already in use',
  1: 'the account lacks lamports',
};

// squads-v4.md, section 9
const SQUADS_ERRORS: Readonly<Record<number, string>> = {
  2006: 'an address is not the one expected',
  3012: 'an account does not exist',
  6004: 'the member lacks the right',
  6005: 'the signer is not a member',
  6007: 'the proposal is stale',
  6008: 'the proposal is not in the right state',
  6010: 'the member has approved already',
  6014: 'an account is not the one in the message',
  6021: 'the time lock is not released',
};

const NAMES: Readonly<Record<string, { name: string; errors: Readonly<Record<number, string>> }>> = {
  [TOKEN_PROGRAM]: { name: 'SPL Token', errors: TOKEN_ERRORS },
  [TOKEN_2022_PROGRAM]: { name: 'Token-2022', errors: TOKEN_ERRORS },
  [SYSTEM_PROGRAM]: { name: 'System', errors: SYSTEM_ERRORS },
  [SQUADS_PROGRAM]: { name: 'Squads', errors: SQUADS_ERRORS },
};

const FAILED_PROGRAM = /^Program (\S+) failed: /;

/** The innermost program that failed, as the logs tell it: it is the first to say so. */
function failedProgram(logs: readonly string[]): string | undefined {
  for (const line of logs) {
    const found = FAILED_PROGRAM.exec(line);
    if (found !== null) return found[1];
  }
  return undefined;
}

/** How the embedded Squads program logs that only the real one has an instruction. */
export const unsupportedInstruction = (logName: string): string =>
  `The embedded Squads program does not support ${logName}`;

const UNSUPPORTED_LINE = new RegExp(`^Program log: ${unsupportedInstruction('(\\w+)')};`);

function describeUnsupported(logs: readonly string[]): string {
  const name = logs.flatMap((line) => UNSUPPORTED_LINE.exec(line)?.[1] ?? []).at(0);
  return `the embedded Squads program does not support ${name ?? 'an instruction'}`;
}

/**
 * Why a transaction failed, without a full stop: `instruction 2: SPL Token error 1 (insufficient funds)`.
 * @param logs - of the transaction; they name the program whose number it is.
 */
export function describeTransactionError(error: TransactionError, logs: readonly string[]): string {
  if (error.kind === 'transaction') return error.error;
  const program = NAMES[failedProgram(logs) ?? ''];
  if (!('custom' in error)) {
    const reason = error.error === UNSUPPORTED_INSTRUCTION ? describeUnsupported(logs) : error.error;
    return `instruction ${error.index}: ${reason}`;
  }
  const reason = program?.errors[error.custom];
  return `instruction ${error.index}: ${program?.name ?? 'program'} error ${error.custom}${reason === undefined ? '' : ` (${reason})`}`;
}
