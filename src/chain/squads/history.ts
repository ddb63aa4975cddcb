/** Reconstructs a batch from its transactions, even after its accounts are closed, as far back as the nodes store them. */
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import type { ChainReader, PastTransaction, Signature, TransactionRecord } from '../chain.js';
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../programs.js';
import { type Call, callsIn, type Message } from '../transaction/message.js';
import { decodeTransaction } from '../transaction/wire.js';
import { isStale, type Multisig, votesToEnd } from './accounts.js';
import { batchTransactionAddress, proposalAddress, transactionAddress } from './addresses.js';
import type { BatchRef } from './builders.js';
import { decodeArguments, INSTRUCTIONS, type InstructionName, instructionName } from './instructions.js';
import { decodeVaultMessage } from './message.js';
import { readMultisig } from './read-accounts.js';

interface Act {
  readonly name: InstructionName;
  /** By name in the instruction; `undefined` for an account in an unknown lookup table. */
  readonly accounts: Readonly<Record<string, Address | undefined>>;
  readonly data: ReadonlyBytes;
  readonly record: TransactionRecord;
  /** In the same transaction, other programs may also have moved tokens. */
  readonly isMixed: boolean;
}

const MOVE_NO_TOKENS: readonly (Address | undefined)[] = [
  ...[COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM, SYSTEM_PROGRAM, SQUADS_PROGRAM],
];

const INNER_CALL = new RegExp(`^Program ${SQUADS_PROGRAM} invoke \\[([2-9]|[1-9]\\d)\\]$`);
const CUT = 'Log truncated';

const MAX_READ = 20_000;
/** Others can name an account in any number of transactions, and a node can invent them. */
const MAX_LISTED = 1_000_000;

/**
 * Every act on these accounts, unordered. Anyone can name the accounts, so above the limit only transactions that also name a
 * member of the multisig are read: without a member, only closing is possible.
 * @returns `isWhole`: every transaction that names the accounts was read; `null` when the nodes lack a part of the history, or a
 * part cannot be decoded.
 */
async function readActs(
  chain: ChainReader,
  multisig: Multisig | null,
  accounts: readonly Address[],
): Promise<{ readonly isWhole: boolean; readonly acts: readonly Act[] } | null> {
  const named = (await naming(chain, accounts))?.filter(({ failed }) => !failed);
  if (named === undefined) return null;
  const all = new Set(named.map(({ signature }) => signature));
  const isWhole = all.size <= MAX_READ;
  const signatures = isWhole ? all : await namingMembers(chain, multisig, named);
  if (signatures === null || signatures.size > MAX_READ) return null;
  const acts: Act[] = [];
  for (const record of await chain.lookUp([...signatures])) {
    const own = record === null ? null : ownCalls(record);
    if (record === null || own === null) return null;
    const isMixed = own.some(({ program }) => !MOVE_NO_TOKENS.includes(program));
    const calls = [...own, ...(record.innerCalls ?? [])];
    acts.push(...calls.flatMap((call) => actOf(call, record, isMixed) ?? []));
  }
  return { isWhole, acts };
}

async function namingMembers(
  chain: ChainReader,
  multisig: Multisig | null,
  named: readonly PastTransaction[],
): Promise<ReadonlySet<Signature> | null> {
  const keys = multisig?.members.map(({ key }) => key) ?? [];
  const theirs = await naming(chain, keys);
  if (theirs === undefined) return null;
  const wanted = new Set(theirs.map(({ signature }) => signature));
  return new Set(named.flatMap(({ signature }) => (wanted.has(signature) ? signature : [])));
}

/** Top-level instructions; `null` if these, or their inner calls, cannot be determined. */
function ownCalls(record: TransactionRecord): readonly Call[] | null {
  // A failed transaction has no effect and is never in the list, so a node that reports both is not believed.
  if (record.error !== null || record.wire === null) return null;
  const own = callsIn(decodeTransaction(record.wire).message, record.tableAddresses);
  return own.some(isHidden) || hidesCalls(record, own) ? null : own;
}

/** All transactions that name one of the accounts. @returns `undefined` when some may be missing, as when a node does not answer. */
async function naming(chain: ChainReader, accounts: readonly Address[]) {
  try {
    const lists = await Promise.all(accounts.map((account) => chain.history(account, { limit: MAX_LISTED })));
    return lists.some(({ length }) => length >= MAX_LISTED) ? undefined : lists.flat();
  } catch (error) {
    if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return undefined;
    throw error;
  }
}

const isHidden = ({ program, accounts }: Call): boolean =>
  (program === undefined || program === SQUADS_PROGRAM) && accounts.includes(undefined);

/**
 * Whether Squads calls from other programs may be missing. If the node reports inner calls, the logs must not show more of
 * them. Otherwise the logs decide; if the logs are truncated, only a program without access to the Squads program is certain
 * not to have called it.
 */
function hidesCalls(record: TransactionRecord, instructions: readonly Call[]): boolean {
  const told = record.logs.filter((line) => INNER_CALL.test(line)).length;
  if (record.innerCalls !== undefined)
    return told > record.innerCalls.filter(({ program }) => program === SQUADS_PROGRAM).length;
  const mayCall = ({ accounts }: Call): boolean =>
    accounts.includes(SQUADS_PROGRAM) || accounts.includes(undefined);
  const isWhole = record.logs.length > 0 && !record.logs.includes(CUT);
  return told > 0 || (!isWhole && instructions.some(mayCall));
}

function actOf(
  { program, accounts, data }: Call,
  record: TransactionRecord,
  isMixed: boolean,
): Act | undefined {
  const name = program === SQUADS_PROGRAM ? instructionName(data) : undefined;
  if (name === undefined) return undefined;
  const roles = Object.keys(INSTRUCTIONS[name].accounts);
  const named = Object.fromEntries(roles.map((role, at) => [role, accounts[at]]));
  return { name, accounts: named, data, record, isMixed };
}

interface PastBatchTransaction {
  readonly number: number;
  readonly address: Address;
  readonly message: Message;
  readonly ephemeralSigners: number;
  /** `null` if not executed. */
  readonly executed: TransactionRecord | null;
  /** The executing transaction moved no tokens but those of this batch. */
  readonly isAlone: boolean;
}

export interface PastBatch extends BatchRef {
  readonly creator: Address;
  readonly vaultIndex: number;
  readonly transactions: readonly PastBatchTransaction[];
  readonly closings: readonly TransactionRecord[];
  /** The batch account was closed. A node that shows it closed, and not by whom, is behind with its history. */
  readonly isClosed: boolean;
  readonly votes: Readonly<Record<'approved' | 'rejected' | 'cancelled', readonly Address[]>>;
}

/** @param isWhole - else an execution by a former member may be among the unread transactions */
function lacksExecutions(
  { batchIndex, transactions, isClosed, votes }: PastBatch,
  multisig: Multisig | null,
  isWhole: boolean,
): boolean {
  const count = transactions.findIndex(({ executed }) => executed === null);
  if (count < 0) return false;
  // A multisig executes in order, and closes only what was executed, cancelled, rejected, or stale before it was approved.
  const isHole = transactions.slice(count).some(({ executed }) => executed !== null);
  const needed = multisig === null ? { rejected: 1, cancelled: 2 } : votesToEnd(multisig);
  // Its threshold was two when it was registered, and may have been another one for this batch.
  const wasChanged = multisig === null || isStale(multisig, batchIndex);
  const isRefused = wasChanged ? votes.approved.length < 2 : votes.rejected.length >= needed.rejected;
  const isEnded = votes.cancelled.length >= needed.cancelled || (count === 0 && isRefused);
  return !isWhole || isHole || (isClosed && !isEnded);
}

/**
 * Reconstructs a batch from the history of the chain alone. Only successful transactions count, and only instructions on this
 * batch: its address derives from multisig and index, and the program has checked the address.
 * @returns `null` when the nodes lack a part of the history, or a part cannot be decoded.
 */
export async function readPastBatch(chain: ChainReader, ref: BatchRef): Promise<PastBatch | null> {
  const { multisig, batchIndex } = ref;
  const batch = transactionAddress(multisig, batchIndex).address;
  const proposal = proposalAddress(multisig, batchIndex).address;
  const { value: account } = await readMultisig(chain, multisig);
  const past = await readActs(chain, account, [batch, proposal]);
  if (past === null) return null;
  const of = (name: InstructionName): readonly Act[] =>
    past.acts.filter((act) => act.name === name && act.accounts['batch'] === batch);
  const byTransaction = (name: InstructionName): ReadonlyMap<Address | undefined, Act> =>
    new Map(of(name).map((act) => [act.accounts['transaction'], act]));
  const [made] = of('batchCreate');
  const created = made && decodeArguments('batchCreate', made.data);
  const creator = made?.accounts['creator'];
  // Without the creation, other parts may be missing too.
  if (created === undefined || creator === undefined) return null;
  const executions = byTransaction('batchExecuteTransaction');
  const shared = new Set(
    past.acts.flatMap(({ name, accounts, record, isMixed }) => {
      const isOther =
        name === 'vaultTransactionExecute' ||
        (name === 'batchExecuteTransaction' && accounts['batch'] !== batch);
      return isMixed || isOther ? record : [];
    }),
  );
  const added = byTransaction('batchAddTransaction');
  const closed = byTransaction('vaultBatchTransactionAccountClose');
  const transactions: PastBatchTransaction[] = [];
  for (let number = 1; number <= added.size; number += 1) {
    const { address } = batchTransactionAddress(multisig, batchIndex, number);
    const act = added.get(address);
    const given = act && decodeArguments('batchAddTransaction', act.data);
    const message = given && decodeVaultMessage(given.message);
    if (given === undefined || message === undefined) return null;
    const { ephemeralSigners } = given;
    const executed = executions.get(address)?.record ?? null;
    const isAlone = executed === null || !shared.has(executed);
    transactions.push({ number, address, message, ephemeralSigners, executed, isAlone });
  }
  // Executed and closed transactions must have been added before; otherwise history is missing.
  if ([...executions.keys(), ...closed.keys()].some((address) => !added.has(address))) return null;
  const ends = of('batchAccountsClose');
  const closings = [...closed.values(), ...ends].map(({ record }) => record);
  // Lists are newest first. An approval takes back the rejection of the same member, and the other way round.
  const votes = past.acts
    .filter(({ accounts }) => accounts['proposal'] === proposal)
    .reverse()
    .sort((one, other) => Number(one.record.slot - other.record.slot));
  const last = new Map(
    votes.flatMap(({ name, accounts: { member } }) =>
      member !== undefined && ['proposalApprove', 'proposalReject'].includes(name) ? [[member, name]] : [],
    ),
  );
  const lastly = (vote: InstructionName): readonly Address[] =>
    [...last].flatMap(([member, name]) => (name === vote ? member : []));
  const cancels = votes.filter(({ name }) => name === 'proposalCancel' || name === 'proposalCancelV2');
  const found = {
    ...{ multisig, batchIndex, creator, vaultIndex: created.vaultIndex, transactions },
    ...{ closings: [...new Set(closings)], isClosed: ends.length > 0 },
    votes: {
      approved: lastly('proposalApprove'),
      rejected: lastly('proposalReject'),
      cancelled: [...new Set(cancels.flatMap(({ accounts: { member } }) => member ?? []))],
    },
  };
  return lacksExecutions(found, account, past.isWhole) ? null : found;
}
