/** Table of the actions that a pipeline may contain, and of their instructions. All code reaches actions through this table. */
import type * as z from 'zod';
import type { VaultToken } from '../chain/chain.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../chain/programs.js';
import type { Instruction } from '../chain/transaction/message.js';
import { invariant } from '../errors/flywheel-error.js';
import { type Address, address } from '../values/address.js';
import { formatTokenAmount } from '../values/token-amount.js';
import {
  type ActionKind,
  type AnyInstruction,
  type InstructionCost,
  type InstructionKind,
  type InText,
  type ReadBack,
  type TokenEffect,
  type UnknownInstruction,
  type Usage,
  unknownInstruction,
} from './action.js';
import { airdropAction } from './airdrop.js';
import { burnAction } from './burn.js';
import { memoAction } from './memo.js';

export const ACTIONS: {
  readonly BURN: typeof burnAction;
  readonly AIRDROP: typeof airdropAction;
  readonly MEMO: typeof memoAction;
} = { BURN: burnAction, AIRDROP: airdropAction, MEMO: memoAction };

export type ActionName = keyof typeof ACTIONS;

export type MovingActionName = {
  [Name in ActionName]: (typeof ACTIONS)[Name]['usage'] extends null ? never : Name;
}[ActionName];

/** An action as in the API; amounts in whole tokens. */
export type SourceAction = z.infer<ActionSchema>;

/** An action with amounts in base units. */
export type PipelineAction = ReturnType<(typeof ACTIONS)[ActionName]['content']>;

type KnownInstruction = Exclude<
  ReturnType<(typeof ACTIONS)[ActionName]['kinds'][number]['decode']>,
  UnknownInstruction
>;

export type DecodedInstruction = KnownInstruction | UnknownInstruction;

export const ACTION_NAMES = Object.keys(ACTIONS) as readonly ActionName[];

export const ACTION_SCHEMAS = ACTION_NAMES.map(
  (name) => ACTIONS[name].schema,
) as readonly ActionSchema[] as readonly [ActionSchema, ...ActionSchema[]];
type ActionSchema = (typeof ACTIONS)[ActionName]['schema'];

const kindOf = ({ action }: { readonly action: ActionName }): ActionKind => ACTIONS[action];

export const isSourceAction = <Action extends { readonly action: string }>(
  action: Action,
): action is Extract<Action, SourceAction> => Object.hasOwn(ACTIONS, action.action);

export const usageOf = (action: { readonly action: ActionName }): Usage | null => kindOf(action).usage;

/** @throws `ERR_INVALID_REQUEST` when the chain cannot represent the action. */
export const actionContent = (source: SourceAction, decimals: number): PipelineAction =>
  kindOf(source).content(source, decimals) as PipelineAction;

export const actionWarning = (action: PipelineAction, mint: Address): string | undefined =>
  kindOf(action).warning(action, mint);

export const actionRecipients = (action: PipelineAction): readonly Address[] =>
  kindOf(action).recipients(action);

export const actionInstructions = (action: PipelineAction, token: VaultToken): readonly Instruction[] =>
  kindOf(action).instructions(action, token);

export const actionChanges = (action: PipelineAction, token: VaultToken): readonly TokenEffect[] =>
  kindOf(action).changes(action, token);

export const totalOf = (usage: Usage, actions: readonly PipelineAction[]): bigint =>
  actions.reduce(
    (sum, action) => (usageOf(action) === usage && 'amount' in action ? sum + action.amount : sum),
    0n,
  );

export type ActionInText = {
  [Name in ActionName]: InText<ReturnType<(typeof ACTIONS)[Name]['content']>>;
}[ActionName];

export const inText = (action: PipelineAction, decimals: number): ActionInText =>
  ('amount' in action
    ? { ...action, amount: formatTokenAmount(action.amount, decimals) }
    : action) as ActionInText;

export const actionText = (action: ActionInText): string => kindOf(action).text(action);

export const sourceText = (source: SourceAction): string =>
  actionText(('amount' in source ? { ...source, amount: String(source.amount) } : source) as ActionInText);

/** The action that starts at the first instruction, or the reason why there is none; no full stop. */
export function readAction(
  instructions: readonly DecodedInstruction[],
  vault: Address,
): ReadBack<PipelineAction> | string {
  const [first] = instructions;
  if (first?.kind === 'unknown') return first.reason;
  for (const name of ACTION_NAMES) {
    const read = (ACTIONS[name] as ActionKind).read(instructions, vault);
    if (read !== undefined) return read as ReadBack<PipelineAction> | string;
  }
  return `an instruction ${first?.kind} begins no action`;
}

const INSTRUCTION_KINDS: readonly InstructionKind[] = ACTION_NAMES.flatMap(
  (name): readonly InstructionKind[] => ACTIONS[name].kinds,
);

const TOKEN_INSTRUCTION_NAMES: Readonly<Record<number, string>> = {
  ...{ 0: 'InitializeMint', 1: 'InitializeAccount', 3: 'Transfer (unchecked)', 4: 'Approve', 5: 'Revoke' },
  ...{ 6: 'SetAuthority', 7: 'MintTo', 8: 'Burn (unchecked)', 9: 'CloseAccount', 10: 'FreezeAccount' },
  ...{ 11: 'ThawAccount', 13: 'ApproveChecked', 14: 'MintToChecked', 17: 'SyncNative' },
};

export function describeInstruction(instruction: Instruction): DecodedInstruction {
  const { program, data } = instruction;
  const kind = INSTRUCTION_KINDS.find((one) => one.matches(instruction));
  if (kind !== undefined) return kind.decode(instruction) as DecodedInstruction;
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM)
    return unknownInstruction(program, `a batch must not call the program ${program}`);
  const number = data[0];
  const known = number === undefined ? 'without data' : TOKEN_INSTRUCTION_NAMES[number];
  const reason = `the token instruction ${known ?? `number ${number}`} is neither BurnChecked nor TransferChecked`;
  return unknownInstruction(program, reason);
}

export function instructionProblem(decoded: DecodedInstruction, token: VaultToken): string | undefined {
  if (decoded.kind === 'unknown') return decoded.reason;
  const kind = INSTRUCTION_KINDS.find((one) => one.kind === decoded.kind);
  invariant(kind !== undefined, `The instruction ${decoded.kind} belongs to an action.`);
  return kind.problem(decoded satisfies AnyInstruction, token);
}

export function instructionCost(instruction: Instruction): InstructionCost {
  const kind = INSTRUCTION_KINDS.find((one) => one.matches(instruction));
  invariant(kind !== undefined, `An instruction of ${address(instruction.program)} belongs to an action.`);
  return kind.cost;
}
