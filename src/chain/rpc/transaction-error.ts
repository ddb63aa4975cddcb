/** Why a transaction failed, as a cluster's JSON-RPC says it → as this house says it. */
import type { TransactionError } from '../chain.js';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function instructionError(value: unknown): TransactionError | undefined {
  if (!Array.isArray(value)) return undefined;
  const [index, reason] = value as readonly unknown[];
  if (typeof index !== 'number') return undefined;
  if (typeof reason === 'string') return { kind: 'instruction', index, error: reason };
  if (!isObject(reason)) return undefined;
  const custom = reason['Custom'];
  if (typeof custom === 'number') return { kind: 'instruction', index, custom };
  const [name] = Object.keys(reason);
  return name === undefined ? undefined : { kind: 'instruction', index, error: name };
}

/**
 * Reads the `err` of a transaction: text, `{ InstructionError: [index, reason] }`, or a name with details.
 * What is not understood is kept as its JSON text, never dropped: it is a failure all the same.
 */
export function readTransactionError(err: unknown): TransactionError | null {
  if (err === null || err === undefined) return null;
  if (typeof err === 'string') return { kind: 'transaction', error: err };
  const unclear: TransactionError = { kind: 'transaction', error: JSON.stringify(err) };
  if (!isObject(err)) return unclear;
  const [name] = Object.keys(err);
  if (name === undefined) return unclear;
  if (name === 'InstructionError') return instructionError(err[name]) ?? unclear;
  const details = err[name];
  const accountIndex = isObject(details) ? details['account_index'] : undefined;
  return typeof accountIndex === 'number'
    ? { kind: 'transaction', error: name, accountIndex }
    : { kind: 'transaction', error: name };
}
