/** What the multisig program was told about an account in the past, as far as a node still knows it and it can be told for sure. */

import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import type { ChainReader, History, PastTransaction, Signature, TransactionRecord } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import { decodeTransaction } from '../transaction/wire.js';
import { type InstructionName, instructionName } from './instructions.js';

/** One instruction of the multisig program in a transaction that has landed and succeeded. */
export interface Act {
  readonly name: InstructionName | undefined;
  /** An account that is only in a lookup table is `undefined`. */
  readonly accounts: readonly (Address | undefined)[];
  readonly data: ReadonlyBytes;
  readonly signature: Signature;
}

export interface Acts {
  readonly acts: readonly Act[];
  /** The transactions that they are of. */
  readonly records: ReadonlyMap<Signature, TransactionRecord>;
}

/** A call of the multisig program from within another program, as the logs of a transaction tell it. */
const INNER_CALL = new RegExp(`^Program ${SQUADS_PROGRAM} invoke \\[([2-9]|[1-9]\\d)\\]$`);
/** The last line of logs that the node has cut. */
const CUT = 'Log truncated';

const areWhole = ({ logs }: TransactionRecord): boolean => logs.length > 0 && !logs.includes(CUT);

/**
 * Every act on these accounts, in no certain order.
 * @param sinceMs - a time before the accounts were made.
 * @returns `null` when the node has forgotten some of it, or some of it cannot be told.
 */
export async function readActs(
  chain: Pick<ChainReader, 'getTransaction' | 'lookUp'>,
  history: History,
  accounts: readonly Address[],
  sinceMs: number,
): Promise<Acts | null> {
  const signatures = new Set<Signature>();
  for (const account of accounts)
    for (const { signature } of await pastOf(history, account, sinceMs)) signatures.add(signature);
  const looked = await chain.lookUp([...signatures]);
  const records = new Map<Signature, TransactionRecord>();
  const acts: Act[] = [];
  for (const [at, signature] of [...signatures].entries()) {
    const record = looked[at];
    const wire = await chain.getTransaction(signature);
    // Of a transaction that failed nothing has happened: a node that says both is not believed.
    if (record == null || record.error != null || wire === null) return null;
    const own = instructionsOf(wire, record.tableAddresses ?? []);
    if (hidesCalls(record, own)) return null;
    records.set(signature, record);
    const calls = [...own, ...(record.innerCalls ?? [])];
    acts.push(
      ...calls.filter(({ program }) => program === SQUADS_PROGRAM).map((call) => actOf(call, signature)),
    );
  }
  return { acts, records };
}

/** Not every node answers questions about the past. */
const pastOf = (history: History, account: Address, sinceMs: number): Promise<readonly PastTransaction[]> =>
  history.pastOf(account, sinceMs).catch((error: unknown) => {
    if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return [];
    throw error;
  });

/** A call of a program; what is only in a lookup table that nobody has told is `undefined`. */
interface Instruction {
  readonly program: Address | undefined;
  readonly accounts: readonly (Address | undefined)[];
  readonly data: ReadonlyBytes;
}

function instructionsOf(wire: Uint8Array, tableAddresses: readonly Address[]): readonly Instruction[] {
  const { staticKeys, instructions } = decodeTransaction(wire).message;
  const keys = [...staticKeys, ...tableAddresses];
  return instructions.map(({ programIndex, accountIndexes, data }) => ({
    program: keys[programIndex],
    accounts: Array.from(accountIndexes, (index) => keys[index]),
    data,
  }));
}

/**
 * What another program has called is not in the transaction itself. A node may have kept it, and then the logs must not tell of
 * more; else the logs alone tell it, and where they are cut, a program that was not given the multisig program cannot have
 * called it.
 */
function hidesCalls(record: TransactionRecord, instructions: readonly Instruction[]): boolean {
  const told = record.logs.filter((line) => INNER_CALL.test(line)).length;
  if (record.innerCalls !== undefined)
    return told > record.innerCalls.filter(({ program }) => program === SQUADS_PROGRAM).length;
  const mayCall = ({ accounts }: Instruction): boolean =>
    accounts.includes(SQUADS_PROGRAM) || accounts.includes(undefined);
  return told > 0 || (!areWhole(record) && instructions.some(mayCall));
}

const actOf = ({ accounts, data }: Instruction, signature: Signature): Act => ({
  name: instructionName(data),
  accounts,
  data,
  signature,
});
