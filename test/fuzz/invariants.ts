/** Invariants of every transaction. */

import {
  ACCOUNT_SIZE,
  type AccountState,
  type Address,
  BATCH,
  decodeAccount,
  type ExecutionResult,
  INSTRUCTION_ERRORS,
  MULTISIG,
  PROGRAM_CONFIG,
  PROPOSAL,
  type ReadonlyBytes,
  rentExemptLamports,
  SQUADS_ERRORS,
  SQUADS_PROGRAM,
  sameBytes,
  storedMessageSize,
  TRANSACTION_ERRORS,
  VAULT_BATCH_TRANSACTION,
  VAULT_TRANSACTION,
} from './program.js';
import type { World } from './world.js';

/** Largest error number of the bundled programs (Token-2022 has the most). */
const BUNDLED_ERRORS = 100;
const squadsNumbers: ReadonlySet<number> = new Set(Object.values(SQUADS_ERRORS));
const instructionNames = new Set(INSTRUCTION_ERRORS);
const transactionNames = new Set([...TRANSACTION_ERRORS, 'InsufficientFundsForRent', 'DuplicateInstruction']);

function errorProblem({ error }: ExecutionResult): string | null {
  if (error === null) return null;
  if (error.kind === 'transaction') {
    return transactionNames.has(error.error) ? null : `unknown transaction error ${error.error}`;
  }
  if ('custom' in error) {
    const known = error.custom < BUNDLED_ERRORS || squadsNumbers.has(error.custom);
    return known ? null : `unknown error number ${error.custom}`;
  }
  return instructionNames.has(error.error) ? null : `unknown instruction error ${error.error}`;
}

function lamportsProblem(world: World, { changes, feeLamports }: ExecutionResult): string | null {
  let lost = 0n;
  for (const [address, state] of changes) {
    // A bundled program has lamports outside the world's list.
    if (state?.executable === true && world.get(address) === null) return null;
    lost += (world.get(address)?.lamports ?? 0n) - (state?.lamports ?? 0n);
  }
  return lost === feeLamports ? null : `${lost} lamports are gone, the fee is ${feeLamports}`;
}

function failureProblem(result: ExecutionResult): string | null {
  const { error, landed, changes, feeLamports } = result;
  if (error === null) return landed ? null : 'succeeded without landing';
  if (!landed)
    return changes.size === 0 && feeLamports === 0n ? null : 'did not start, yet changed something';
  return changes.size === 1 ? null : `failed, yet changed ${changes.size} accounts`;
}

/** The required length of a program account, or the reason why it is invalid. */
function sizeProblem(data: ReadonlyBytes): string | null {
  const multisig = decodeAccount(MULTISIG, data);
  const transaction = decodeAccount(VAULT_TRANSACTION, data);
  const inBatch = decodeAccount(VAULT_BATCH_TRANSACTION, data);
  const proposal = decodeAccount(PROPOSAL, data);
  let expected: number | undefined;
  // A multisig keeps the space of former members.
  if (multisig !== undefined) {
    const least = ACCOUNT_SIZE.multisig(multisig.members.length);
    return data.length >= least && (data.length - least) % 33 === 0
      ? null
      : `a multisig of ${data.length} bytes`;
  }
  if (decodeAccount(BATCH, data) !== undefined) expected = ACCOUNT_SIZE.batch;
  if (decodeAccount(PROGRAM_CONFIG, data) !== undefined) expected = ACCOUNT_SIZE.programConfig;
  if (transaction !== undefined) {
    expected = ACCOUNT_SIZE.vaultTransaction(
      transaction.ephemeralSignerBumps.length,
      storedMessageSize(transaction.message),
    );
  }
  if (inBatch !== undefined) {
    expected = ACCOUNT_SIZE.batchTransaction(
      inBatch.ephemeralSignerBumps.length,
      storedMessageSize(inBatch.message),
    );
  }
  if (proposal !== undefined)
    return (data.length - 70) % 96 === 0 ? null : `a proposal of ${data.length} bytes`;
  return expected === data.length ? null : `${data.length} bytes where ${expected} belong`;
}

function accountProblem(before: AccountState | null, after: AccountState): string | null {
  if (after.owner !== SQUADS_PROGRAM) return null;
  // A program does not write an account that only receives lamports.
  if (before !== null && sameBytes(before.data, after.data)) return null;
  // Anybody can create an empty account of the program with the system program.
  if (after.data.length > 0 && sameBytes(after.data, new Uint8Array(after.data.length))) return null;
  const size = sizeProblem(after.data);
  if (size !== null) return size;
  const needed = rentExemptLamports(after.data.length);
  return after.lamports < needed ? `${after.lamports} lamports where the rent is ${needed}` : null;
}

export function problemOf(world: World, result: ExecutionResult): string | null {
  const general = errorProblem(result) ?? failureProblem(result) ?? lamportsProblem(world, result);
  if (general !== null || world.isSpoiled) return general;
  for (const [address, state] of result.changes) {
    const problem = state === null ? null : accountProblem(world.get(address), state);
    if (problem !== null) return `${address}: ${problem}`;
  }
  return null;
}

export const losers = (world: World, { changes }: ExecutionResult): Address[] =>
  [...changes].flatMap(([address, state]) =>
    (state?.lamports ?? 0n) < (world.get(address)?.lamports ?? 0n) ? [address] : [],
  );
