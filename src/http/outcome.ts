/** What of an answer its line in the log names: the transactions and the batch that it is about, never what they hold. */

export interface Outcome {
  readonly signatures?: readonly string[];
  /** How many there are, where not all are named. */
  readonly transactions?: number;
  readonly batchId?: string;
}

/** Of an answer with more, only so many are named; the log of the engine has them all. */
const MAX_NAMED = 8;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

const textOf = (value: unknown, name: string): readonly string[] => {
  const text = fieldOf(value, name);
  return typeof text === 'string' ? [text] : [];
};

const listOf = (value: unknown, name: string): readonly unknown[] => {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
};

/** Of the answers of operations that change something. */
export function outcomeOf(value: unknown): Outcome {
  const executions = listOf(fieldOf(value, 'result'), 'successfulExecutions');
  const signatures = [
    ...textOf(value, 'txHash'),
    ...listOf(value, 'success').flatMap((burn) => textOf(burn, 'txHash')),
    ...executions.flatMap((bundle) => listOf(bundle, 'txHashes').filter((hash) => typeof hash === 'string')),
  ];
  const [batchId] = [...textOf(value, 'batchId'), ...textOf(fieldOf(value, 'batch'), 'id')];
  return {
    ...(signatures.length === 0 ? {} : { signatures: signatures.slice(0, MAX_NAMED) }),
    ...(signatures.length > MAX_NAMED ? { transactions: signatures.length } : {}),
    ...(batchId === undefined ? {} : { batchId }),
  };
}
