/** Plans pipelines as vault messages that fit, with the transactions for set-up and execution. No I/O. */

import type { InstructionCost } from '../../actions/action.js';
import {
  type PipelineContent,
  pipelineContent,
  pipelineInstructions,
  type SourcePipeline,
} from '../../actions/pipelines.js';
import { instructionCost, totalOf } from '../../actions/registry.js';
import type { Flywheel } from '../../chain/chain.js';
import { ASSOCIATED_TOKEN_PROGRAM } from '../../chain/programs.js';
import { setComputeUnitLimit } from '../../chain/small-programs.js';
import { ACCOUNT_SIZE } from '../../chain/squads/accounts.js';
import {
  batchAddTransaction,
  batchCreate,
  batchExecuteTransaction,
  proposalActivate,
  proposalCreate,
} from '../../chain/squads/builders.js';
import {
  decodeVaultMessage,
  encodeVaultMessage,
  storedMessageSize,
  vaultMessageInstructions,
} from '../../chain/squads/message.js';
import type { Instruction, Message } from '../../chain/transaction/message.js';
import {
  compile,
  DEFAULT_INSTRUCTION_COMPUTE_UNITS,
  MAX_COMPUTE_UNITS,
  MAX_INSTRUCTION_TRACE,
  MAX_TRANSACTION_ACCOUNTS,
  TRANSACTION_SIZE_LIMIT_BYTES,
} from '../../chain/transaction/message.js';
import { draftTransaction } from '../../chain/transaction/wire.js';
import { invariant } from '../../errors/flywheel-error.js';
import { withBudget } from '../signing-terms.js';

const EMPTY_MESSAGE_COMPUTE_UNITS = 40_000;
/** Up to so many accounts the default of 200,000 units is enough (squads-v4.md, section 10). */
const ACCOUNTS_WITHIN_DEFAULT = 4;
const MEASURED_EMPTY_UNITS = 20_000;

const total = (instructions: readonly Instruction[], part: keyof InstructionCost): number =>
  instructions.reduce((sum, instruction) => sum + instructionCost(instruction)[part], 0);

function executeComputeUnitLimit(instructions: readonly Instruction[]): number | null {
  const opened = instructions.filter(({ program }) => program === ASSOCIATED_TOKEN_PROGRAM).length;
  const measured = MEASURED_EMPTY_UNITS + total(instructions, 'measuredUnits');
  if (opened <= ACCOUNTS_WITHIN_DEFAULT && measured <= DEFAULT_INSTRUCTION_COMPUTE_UNITS) return null;
  return Math.min(MAX_COMPUTE_UNITS, EMPTY_MESSAGE_COMPUTE_UNITS + total(instructions, 'computeUnits'));
}

const OUTER_INSTRUCTIONS = 3;

/**
 * Upper bound of the heap share; 1 is the whole heap. Calls copy data, but the transaction size limit is reached before data
 * above the measured 256 bytes matters.
 */
const heapShare = (instructions: readonly Instruction[]): number => total(instructions, 'heapShare');

export const MAX_ACTIONS_LOOKED_AT = MAX_INSTRUCTION_TRACE;

interface PipelinePlan {
  readonly message: Uint8Array;
  readonly accountBytes: number;
  readonly burn: bigint;
  readonly airdrop: bigint;
}

const MEASURED = { batchIndex: 1n, number: 1 };
const MEASURED_TERMS = {
  blockhash: '11111111111111111111111111111111',
  lastValidBlockHeight: 0n,
  priority: { microLamports: 1n, maxLamports: 1_000_000n },
};
const FULL_HEAP = 1 + 1e-9;

const overSize = (size: number | string): string =>
  `its transaction has ${size} bytes; the limit is ${TRANSACTION_SIZE_LIMIT_BYTES}`;

interface Layout {
  readonly instructions: readonly Instruction[];
  readonly inner: Message;
  readonly message: Uint8Array;
}

function obstacle(
  { message, inner, instructions }: Layout,
  flywheel: Flywheel,
  sizes: AddSizes,
): string | undefined {
  if (message.length > TRANSACTION_SIZE_LIMIT_BYTES) return overSize(`more than ${message.length}`);
  const at = { ...MEASURED, flywheel, message };
  const added = sizes.get(message.length) ?? measure(flywheel, addInstructions(at)).bytes;
  sizes.set(message.length, added);
  if (added > TRANSACTION_SIZE_LIMIT_BYTES) return overSize(added);
  const execute = measure(flywheel, executing(at, inner, instructions));
  if (execute.bytes > TRANSACTION_SIZE_LIMIT_BYTES) return overSize(execute.bytes);
  if (execute.accounts > MAX_TRANSACTION_ACCOUNTS)
    return `its transaction has ${execute.accounts} accounts; the limit is ${MAX_TRANSACTION_ACCOUNTS}`;
  const trace = OUTER_INSTRUCTIONS + total(instructions, 'trace');
  if (trace > MAX_INSTRUCTION_TRACE)
    return `its transaction runs up to ${trace} instructions; the limit is ${MAX_INSTRUCTION_TRACE}`;
  if (heapShare(instructions) > FULL_HEAP)
    return `its transaction fits in ${added} bytes, but its instructions need more memory than the multisig program has`;
  return undefined;
}

/** Includes unit limit and price, so that a pipeline that fits locally fits on a cluster. */
function measure({ operator }: Flywheel, instructions: readonly Instruction[]) {
  const { message, bytes } = draftTransaction(operator, withBudget(instructions, MEASURED_TERMS));
  return { bytes: bytes.length, accounts: message.staticKeys.length };
}

type AddSizes = Map<number, number>;

function layOut(content: PipelineContent, flywheel: Flywheel, sizes: AddSizes) {
  const instructions = pipelineInstructions(content, flywheel);
  const inner = compile(flywheel.vault, instructions);
  const dataBytes = instructions.reduce((sum, { data }) => sum + data.length, 0);
  // The length field of data has two bytes, so larger data cannot be encoded.
  if (dataBytes > TRANSACTION_SIZE_LIMIT_BYTES)
    return { instructions, inner, message: new Uint8Array(0), obstacle: overSize(`more than ${dataBytes}`) };
  const layout: Layout = { instructions, inner, message: encodeVaultMessage(inner) };
  return { ...layout, obstacle: obstacle(layout, flywheel, sizes) };
}

function fittingActions(content: PipelineContent, flywheel: Flywheel, sizes: AddSizes): number {
  let fits = 0;
  let tooMany = content.actions.length;
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    const part = { ...content, actions: content.actions.slice(0, middle) };
    if (layOut(part, flywheel, sizes).obstacle === undefined) fits = middle;
    else tooMany = middle;
  }
  return fits;
}

/**
 * Plans one pipeline as one transaction; a pipeline is never split or merged.
 * @param source - with `actionCount` when `actions` has only the first.
 * @param sizes - cache for pipelines of the same project.
 * @returns the plan, or why the pipeline does not fit: size, limit, and how many actions would fit; no full stop.
 */
export function planPipeline(
  source: SourcePipeline & { readonly actionCount?: number },
  flywheel: Flywheel,
  sizes: AddSizes = new Map(),
): PipelinePlan | string {
  const { actionCount = source.actions.length } = source;
  const actions = source.actions.slice(0, MAX_ACTIONS_LOOKED_AT);
  const content = pipelineContent({ ...source, actions }, flywheel.decimals);
  const { message, inner, obstacle: reason } = layOut(content, flywheel, sizes);
  if (reason !== undefined) {
    const fits = fittingActions(content, flywheel, sizes);
    const part = actions.length < actionCount ? `with only its first ${actions.length} actions, ` : '';
    return `a pipeline must fit one transaction; ${part}${reason}; the first ${fits} of its ${actionCount} actions would fit`;
  }
  const accountBytes = ACCOUNT_SIZE.batchTransaction(0, storedMessageSize(inner));
  const [burn, airdrop] = [totalOf('burn', content.actions), totalOf('airdrop', content.actions)];
  return { message, accountBytes, burn, airdrop };
}

interface BatchPlace {
  readonly flywheel: Pick<Flywheel, 'multisig' | 'operator' | 'vaultIndex' | 'vault'>;
  readonly batchIndex: bigint;
}

interface TransactionPlace extends BatchPlace {
  readonly number: number;
  readonly message: Uint8Array;
}

export function createInstructions({ flywheel, batchIndex }: BatchPlace): readonly Instruction[] {
  const { multisig, operator, vaultIndex } = flywheel;
  const common = { multisig, batchIndex, creator: operator, rentPayer: operator };
  return [batchCreate({ ...common, vaultIndex }), proposalCreate({ ...common, draft: true })];
}

export const addInstructions = ({ flywheel, ...place }: TransactionPlace): readonly Instruction[] => {
  const { multisig, operator } = flywheel;
  return [batchAddTransaction({ ...place, multisig, member: operator, rentPayer: operator })];
};

function executeInstructions(place: TransactionPlace): readonly Instruction[] {
  const inner = decodeVaultMessage(place.message);
  const instructions = inner && vaultMessageInstructions(inner);
  invariant(inner !== undefined && instructions !== undefined, 'The message of a pipeline is malformed.');
  return executing(place, inner, instructions);
}

function executing(
  { flywheel, batchIndex, number }: TransactionPlace,
  message: Message,
  instructions: readonly Instruction[],
): readonly Instruction[] {
  const limit = executeComputeUnitLimit(instructions);
  const { multisig, operator: member, vault } = flywheel;
  const execute = batchExecuteTransaction({ multisig, batchIndex, number, member, vault, message });
  return limit === null ? [execute] : [setComputeUnitLimit(limit), execute];
}

export function* setupTransactions(
  place: BatchPlace,
  messages: readonly Uint8Array[],
): Generator<readonly Instruction[], void> {
  const { flywheel, batchIndex } = place;
  yield createInstructions(place);
  for (const [index, message] of messages.entries())
    yield addInstructions({ ...place, number: index + 1, message });
  yield [proposalActivate({ multisig: flywheel.multisig, batchIndex, member: flywheel.operator })];
}

const MAX_SHARING = 8;

/**
 * Merges neighbouring set-up instructions, which saves confirmations on a cluster. Deterministic, so that a set-up can resume.
 */
export function* shared(
  flywheel: Flywheel,
  transactions: Iterable<readonly Instruction[]>,
): Generator<readonly Instruction[], void> {
  let open: readonly Instruction[] = [];
  for (const instructions of transactions) {
    const together = [...open, ...instructions];
    const fits =
      together.length <= MAX_SHARING && measure(flywheel, together).bytes <= TRANSACTION_SIZE_LIMIT_BYTES;
    if (open.length > 0 && !fits) yield open;
    open = fits ? together : instructions;
  }
  if (open.length > 0) yield open;
}

export function* executeTransactions(
  place: BatchPlace,
  messages: readonly Uint8Array[],
): Generator<readonly Instruction[], void> {
  for (const [index, message] of messages.entries())
    yield executeInstructions({ ...place, number: index + 1, message });
}
