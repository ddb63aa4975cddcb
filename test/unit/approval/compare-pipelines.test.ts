import { describe, expect, it } from 'vitest';
import type { SourcePipeline } from '../../../src/actions/pipelines.js';
import { memo } from '../../../src/chain/memo.js';
import { associatedTokenAddress } from '../../../src/chain/tokens/addresses.js';
import type { Instruction } from '../../../src/chain/transaction/instruction.js';
import { sha256 } from '../../../src/values/digest.js';
import { burnOf, createOf, refusal, stranger, transferOf } from '../../support/batch-checks.js';
import {
  type Accounts,
  accountsOf,
  batchState,
  goodInstructions,
  vaultToken,
} from '../../support/batch-on-chain.js';
import { namedAddress } from '../../support/oracle.js';

const { mint, vault, tokenProgram } = vaultToken;

describe('compareWithPipelines refuses', () => {
  const good = goodInstructions() as [Instruction[], Instruction[], Instruction[]];
  const [proofMemo, burn] = good[0] as [Instruction, Instruction];
  const second = good[1];
  const replaced = (index: number, instructions: Instruction[]): Accounts =>
    accountsOf(batchState(good.map((one, position) => (position === index ? instructions : one))));
  const bob = namedAddress('bob');

  it.each<readonly [string, () => Accounts, string]>([
    [
      'two pipelines swapped',
      () => accountsOf(batchState([good[1], good[0], good[2]])),
      'pipelines[0].type: the chain has "WATCH_AD", expected "PRODUCT_BUY"',
    ],
    [
      'two pipelines of the same type swapped',
      () => accountsOf(batchState([good[2], good[1], good[0]])),
      'pipelines[0] proof hash',
    ],
    [
      'another amount',
      () => replaced(0, [proofMemo, burnOf({ amount: 1_500_001n })]),
      'pipelines[0].actions[0]: the chain has burn 1.500001, expected burn 1.5',
    ],
    [
      'another hash',
      () => replaced(0, [memo(`{"type":"PRODUCT_BUY","hash":"${sha256('x')}"}`, [vault]), burn]),
      `pipelines[0] proof hash: the chain has ${sha256('x')}, expected ${sha256('1')}`,
    ],
    [
      'another type',
      () => replaced(0, [memo(`{"type":"FREE","hash":"${sha256('1')}"}`, [vault]), burn]),
      'pipelines[0].type: the chain has "FREE"',
    ],
    [
      'an added memo',
      () => replaced(0, [proofMemo, burn, memo('more', [vault])]),
      'pipelines[0].actions[1]: the chain has memo "more", expected nothing',
    ],
    [
      'an added burn',
      () => replaced(0, [proofMemo, burn, burn]),
      'pipelines[0].actions[1]: the chain has burn 1.5, expected nothing',
    ],
    ['a missing action', () => replaced(0, [proofMemo]), 'the chain has nothing, expected burn 1.5'],
    [
      'a memo instead of a burn',
      () => replaced(0, [proofMemo, memo('1.5', [vault])]),
      'the chain has memo "1.5", expected burn 1.5',
    ],
    [
      'a swapped order of actions',
      () =>
        replaced(1, [
          ...second.slice(0, 1),
          ...second.slice(3, 4),
          ...second.slice(1, 3),
          ...second.slice(4),
        ]),
      'pipelines[1].actions[0]: the chain has memo',
    ],
    [
      'another recipient',
      () =>
        replaced(1, [
          ...second.slice(0, 1),
          createOf({}),
          transferOf({ amount: 2_000_000n }),
          ...second.slice(3),
        ]),
      `the chain has airdrop 2 to ${stranger}, expected airdrop 2 to ${namedAddress('alice')}`,
    ],
    [
      'a transfer beside the account that is opened',
      () => replaced(1, [...second.slice(0, 2), transferOf({ amount: 2_000_000n }), ...second.slice(3)]),
      'not followed by a transfer to it',
    ],
    [
      'a transfer without its account being opened',
      () =>
        replaced(1, [
          ...second.slice(0, 4),
          transferOf({ to: associatedTokenAddress(bob, mint, tokenProgram) }),
        ]),
      'does not say whose',
    ],
    [
      'an account opened for nobody',
      () => replaced(0, [proofMemo, burn, createOf({})]),
      'not followed by a transfer',
    ],
    ['no memo of a proof', () => replaced(0, [burn]), 'does not begin with the memo of a proof'],
    [
      'an unsigned memo of a proof',
      () => replaced(0, [{ ...proofMemo, accounts: [] }, burn]),
      'does not begin with the memo of a proof',
    ],
    [
      'a memo of a proof with more in it',
      () => replaced(0, [memo(`{"type":"PRODUCT_BUY","hash":"${sha256('1')}","x":1}`, [vault]), burn]),
      'does not begin with the memo of a proof',
    ],
    [
      'a memo of a proof with spaces',
      () => replaced(0, [memo(`{"type": "PRODUCT_BUY","hash":"${sha256('1')}"}`, [vault]), burn]),
      'does not begin with the memo of a proof',
    ],
    ['an unsigned memo', () => replaced(0, [proofMemo, burn, memo('x', [])]), 'not signed by the vault'],
  ])('%s', async (_name, attack, reason) => {
    expect(await refusal(attack())).toContain(reason);
  });

  it('and names the first differences only', async () => {
    const many = (amount: number): SourcePipeline[] =>
      Array.from({ length: 8 }, (_, n) => ({
        type: 'T',
        proofHash: sha256(String(n)),
        actions: [{ action: 'BURN', amount }],
      }));
    const instructions = many(1).map(({ type, proofHash }) => [
      memo(`{"type":"${type}","hash":"${proofHash}"}`, [vault]),
      burnOf({ amount: 1_000_000n }),
    ]);
    const message = await refusal(accountsOf(batchState(instructions)), many(2));
    expect(message).toContain('pipelines[4].actions[0]');
    expect(message).not.toContain('pipelines[5]');
    expect(message).toContain('and 3 more');
    expect(await refusal(accountsOf(batchState(instructions)), many(1))).toBe('accepted');
  });
});
