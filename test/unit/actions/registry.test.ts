/** Round trips of every action: two actions never become the same instructions on chain. */
import { describe, expect, it } from 'vitest';
import {
  ACTION_NAMES,
  type ACTIONS,
  type ActionName,
  actionChanges,
  actionInstructions,
  describeInstruction,
  instructionCost,
  instructionProblem,
  readAction,
  usageOf,
} from '../../../src/actions/registry.js';
import { ACTION_FIELDS, actionSchema } from '../../../src/contract/schemas/batch.js';
import { namedAddress } from '../../support/oracle.js';
import { vaultToken } from '../batch-on-chain.js';

type ContentOf<Name extends ActionName> = ReturnType<(typeof ACTIONS)[Name]['content']>;

const EXAMPLES: { readonly [Name in ActionName]: ContentOf<Name> } = {
  BURN: { action: 'BURN', amount: 5n },
  AIRDROP: { action: 'AIRDROP', toAddress: namedAddress('stranger'), amount: 7n },
  MEMO: { action: 'MEMO', message: 'thank you' },
};

describe.each(ACTION_NAMES)('%s', (name) => {
  const action = EXAMPLES[name];
  const instructions = actionInstructions(action, vaultToken);
  const operations = instructions.map(describeInstruction);

  it('is read back from its instructions as what it was', () => {
    expect(readAction(operations, vaultToken.vault)).toEqual({ action, length: operations.length });
    expect(operations.map((operation) => instructionProblem(operation, vaultToken))).toEqual(
      operations.map(() => undefined),
    );
    for (const instruction of instructions) expect(instructionCost(instruction).trace).toBeGreaterThan(0);
  });

  it('takes from the vault what its amount says, and nothing without a usage', () => {
    const changes = actionChanges(action, vaultToken);
    const taken = changes.find(({ account }) => account === vaultToken.vaultTokenAccount)?.amount ?? 0n;
    expect(-taken).toBe('amount' in action ? action.amount : 0n);
    expect(taken === 0n).toBe(usageOf(action) === null);
  });

  it('is an action to the API, by fields that an answer is held to', () => {
    const given = 'amount' in action ? { ...action, amount: 1 } : action;
    expect(actionSchema.safeParse(given)).toEqual({ success: true, data: given });
    expect(ACTION_FIELDS).toEqual(expect.arrayContaining(Object.keys(given)));
  });
});
