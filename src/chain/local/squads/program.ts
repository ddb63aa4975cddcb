/** The native Squads v4 program: finds the instruction, loads its accounts, runs it (docs/squads-v4.md, section 4). */
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import {
  type AccountRule,
  decodeArguments,
  IDENTIFIER_BYTES,
  INSTRUCTIONS,
  type InstructionName,
  identifierIn,
  identifierOf,
  instructionName,
} from '../../squads/instructions.js';
import type { AccountMeta } from '../../transaction/message.js';
import { InstructionFailure, type Invocation } from '../runtime/execution.js';
import * as proposals from './proposal.js';
import { decodeState, fail, type Loaded, type SquadsCall, writeBack } from './rules.js';
import * as transactions from './transaction.js';

/** Order in every function: create the new account, check the rules, change the account values. */
const BEHAVIOUR: { readonly [Name in InstructionName]: (call: SquadsCall<Name>) => void } = {
  multisigCreate: transactions.multisigCreate,
  multisigCreateV2: transactions.multisigCreateV2,
  batchCreate: transactions.batchCreate,
  proposalCreate: proposals.proposalCreate,
  batchAddTransaction: transactions.batchAddTransaction,
  proposalActivate: proposals.proposalActivate,
  proposalApprove: proposals.proposalApprove,
  proposalReject: proposals.proposalReject,
  proposalCancel: proposals.proposalCancel,
  proposalCancelV2: proposals.proposalCancelV2,
  batchExecuteTransaction: transactions.batchExecuteTransaction,
  vaultTransactionCreate: transactions.vaultTransactionCreate,
  vaultTransactionExecute: transactions.vaultTransactionExecute,
  vaultBatchTransactionAccountClose: transactions.vaultBatchTransactionAccountClose,
  batchAccountsClose: transactions.batchAccountsClose,
  vaultTransactionAccountsClose: transactions.vaultTransactionAccountsClose,
};

/** An error of this program only: the real one supports the instruction, which the log names. */
const UNSUPPORTED = 'UnsupportedInstruction';
const UNSUPPORTED_SENTENCE = 'instruction not supported by the embedded program';

/** Instructions of the real program only (section 7.14); naming them avoids a misleading "unknown instruction". */
const MISSING = [
  'programConfigInit',
  'programConfigSetAuthority',
  'programConfigSetMultisigCreationFee',
  'programConfigSetTreasury',
  'multisigAddMember',
  'multisigRemoveMember',
  'multisigSetTimeLock',
  'multisigChangeThreshold',
  'multisigSetConfigAuthority',
  'multisigSetRentCollector',
  'configTransactionCreate',
  'configTransactionExecute',
  'configTransactionAccountsClose',
  'multisigAddSpendingLimit',
  'multisigRemoveSpendingLimit',
  'spendingLimitUse',
  'transactionBufferCreate',
  'transactionBufferExtend',
  'transactionBufferClose',
  'vaultTransactionCreateFromBuffer',
];

const logName = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

function refuse({ data, log }: Invocation): never {
  const identifier = identifierIn(data);
  const missing = MISSING.find((name) => identifierOf(name) === identifier);
  if (missing === undefined) fail('InstructionFallbackNotFound');
  const name = logName(missing);
  log(`Instruction: ${name}`);
  log(
    `The embedded Squads program does not support ${name}; flywheel local init --squads-program FILE runs the program itself.`,
  );
  throw new InstructionFailure({ error: UNSUPPORTED }, UNSUPPORTED_SENTENCE);
}

/** Step 3, kind *state*. */
function loadState(
  invocation: Invocation,
  name: string,
  rule: AccountRule,
  { address }: AccountMeta,
): unknown {
  const { owner, lamports, data } = invocation.get(address);
  if (owner === SYSTEM_PROGRAM && lamports === 0n) fail('AccountNotInitialized', name);
  if (owner !== SQUADS_PROGRAM) fail('AccountOwnedByWrongProgram', name);
  return rule.layout === null ? undefined : decodeState(rule.layout, data, name);
}

function load(
  invocation: Invocation,
  name: string,
  rule: AccountRule,
  meta: AccountMeta | undefined,
): Loaded {
  if (meta === undefined) fail('AccountNotEnoughKeys', name);
  if (rule.signer && !meta.signer) fail('AccountNotSigner', name);
  if (rule.kind === 'systemProgram' && meta.address !== SYSTEM_PROGRAM) fail('InvalidProgramId', name);
  const hasState = rule.kind === 'state' || rule.kind === 'closed';
  return { ...meta, name, rule, value: hasState ? loadState(invocation, name, rule, meta) : undefined };
}

const isWrittenBack = ({ rule }: Loaded): boolean =>
  rule.kind === 'new' || (rule.kind === 'state' && rule.writable);

function run(invocation: Invocation): void {
  const { data, accounts, log } = invocation;
  if (data.length < IDENTIFIER_BYTES) fail('InstructionMissing');
  const name = instructionName(data) ?? refuse(invocation);
  log(`Instruction: ${logName(name)}`);
  const args = decodeArguments(name, data);
  if (args === undefined) fail('InstructionDidNotDeserialize');
  const loaded: Loaded[] = [];
  const named: Record<string, Loaded> = {};
  for (const [role, rule] of Object.entries<AccountRule>(INSTRUCTIONS[name].accounts)) {
    // Its vote is a struct of its own, whose constraints come before the account behind it.
    if (name === 'proposalCancelV2' && rule.kind === 'systemProgram')
      proposals.checkVoteAccounts(named as SquadsCall<typeof name>['accounts']);
    const account = load(invocation, role, rule, accounts[loaded.length]);
    loaded.push(account);
    named[role] = account;
  }
  const call = {
    accounts: named,
    args,
    remaining: accounts.slice(loaded.length),
    invocation,
  };
  // Name and accounts come from one row of the table, which the compiler cannot infer.
  (BEHAVIOUR[name] as (call: unknown) => void)(call);
  for (const account of loaded) if (isWrittenBack(account)) writeBack(invocation, account);
}

/** Runs one instruction of the program. @throws InstructionFailure */
export function runSquads(invocation: Invocation): void {
  try {
    run(invocation);
  } catch (error) {
    if (error instanceof InstructionFailure && error.line !== undefined) invocation.log(error.line);
    throw error;
  }
}
