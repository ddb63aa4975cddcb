import { describe, expect, it } from 'vitest';
import { isAsDescribed, readBatch } from '../../../src/approval/read-batch.js';
import { memo } from '../../../src/chain/memo.js';
import { TOKEN_PROGRAM } from '../../../src/chain/programs.js';
import {
  batchTransactionAddress,
  ephemeralSignerAddress,
  proposalAddress,
  transactionAddress,
} from '../../../src/chain/squads/layouts/addresses.js';
import type { InnerMessage } from '../../../src/chain/squads/layouts/message.js';
import { associatedTokenAddress } from '../../../src/chain/tokens/addresses.js';
import type { Instruction } from '../../../src/chain/transaction/instruction.js';
import type { Address } from '../../../src/values/address.js';
import { partOf } from '../../../src/values/bytes.js';
import { sha256 } from '../../../src/values/digest.js';
import { refusal, stranger, withAdded } from '../../support/batch-checks.js';
import {
  type Accounts,
  accountsOf,
  type BatchState,
  batchIndex,
  batchState,
  goodInstructions,
  multisig,
  operator,
  owner,
  readerOf,
  vaultToken,
} from '../../support/batch-on-chain.js';
import { namedAddress } from '../../support/oracle.js';

const { mint, vault, vaultTokenAccount, tokenProgram } = vaultToken;

describe('readBatch', () => {
  it('describes a batch with two calls, and every check accepts it', async () => {
    const reader = readerOf(accountsOf(batchState()));
    const description = await readBatch(reader, { multisig, batchIndex });
    expect(reader.calls).toBe(2);
    expect(await refusal(accountsOf(batchState()))).toBe('accepted');
    expect(description).toMatchObject({
      vault,
      proposal: { status: { kind: 'Active' }, approved: [] },
      batch: { creator: operator, size: 3, executedTransactionIndex: 0 },
      multisigAccount: { threshold: 2, timeLockSeconds: 0 },
    });
    const alice = namedAddress('alice');
    expect(description.transactions[1]?.operations.slice(0, 4)).toEqual([
      { kind: 'memo', text: `{"type":"WATCH_AD","hash":"${sha256('2')}"}`, signers: [vault] },
      {
        kind: 'createTokenAccount',
        tokenProgram,
        payer: vault,
        account: associatedTokenAddress(alice, mint, tokenProgram),
        owner: alice,
        mint,
      },
      {
        kind: 'transfer',
        tokenProgram,
        from: vaultTokenAccount,
        mint,
        to: associatedTokenAddress(alice, mint, tokenProgram),
        owner: vault,
        amount: 2_000_000n,
        decimals: 6,
      },
      { kind: 'memo', text: 'thank you', signers: [vault] },
    ]);
    expect(description.transactions[0]?.operations[1]).toEqual({
      kind: 'burn',
      tokenProgram,
      account: vaultTokenAccount,
      mint,
      owner: vault,
      amount: 1_500_000n,
      decimals: 6,
    });
  });
});

/** Changes the stored form of the second transaction. */
const withMessage = (change: (message: InnerMessage) => Partial<InnerMessage>): Accounts => {
  const state = batchState();
  const second = state.transactions[1] as BatchState['transactions'][number];
  state.transactions[1] = { ...second, message: { ...second.message, ...change(second.message) } };
  return accountsOf(state);
};
const changed = (change: (state: BatchState) => void): Accounts => {
  const state = batchState();
  change(state);
  return accountsOf(state);
};
const at = {
  batch: transactionAddress(multisig, batchIndex).address,
  proposal: proposalAddress(multisig, batchIndex).address,
  second: batchTransactionAddress(multisig, batchIndex, 2).address,
};
const withAccount = (address: Address, change: object | null): Accounts => {
  const accounts = accountsOf(batchState());
  const account = accounts.get(address);
  if (change === null || account === undefined) accounts.delete(address);
  else accounts.set(address, { ...account, ...change });
  return accounts;
};
const markOf = (address: Address, from: Address): Accounts =>
  withAccount(address, { data: accountsOf(batchState()).get(from)?.data });

/** Accounts that are not what they should be. */
const ACCOUNTS: readonly (readonly [string, () => Accounts, string])[] = [
  ['no multisig', () => withAccount(multisig, null), 'does not exist'],
  ['no batch', () => withAccount(at.batch, null), 'does not exist'],
  ['no proposal', () => withAccount(at.proposal, null), 'does not exist'],
  ['no second transaction', () => withAccount(at.second, null), 'does not exist'],
  [
    'a multisig of another program',
    () => withAccount(multisig, { owner: stranger }),
    `belongs to ${stranger}`,
  ],
  ['a batch of another program', () => withAccount(at.batch, { owner: stranger }), `belongs to ${stranger}`],
  [
    'a proposal of another program',
    () => withAccount(at.proposal, { owner: stranger }),
    `belongs to ${stranger}`,
  ],
  [
    'a transaction of another program',
    () => withAccount(at.second, { owner: TOKEN_PROGRAM }),
    `belongs to ${TOKEN_PROGRAM}`,
  ],
  ['a batch where the multisig should be', () => markOf(multisig, at.batch), 'does not hold a Multisig'],
  ['a proposal where the batch should be', () => markOf(at.batch, at.proposal), 'does not hold a Batch'],
  ['a batch where the proposal should be', () => markOf(at.proposal, at.batch), 'does not hold a Proposal'],
  [
    'a batch where a transaction should be',
    () => markOf(at.second, at.batch),
    'does not hold a VaultBatchTransaction',
  ],
  [
    'a cut transaction',
    () =>
      withAccount(at.second, {
        data: partOf(accountsOf(batchState()).get(at.second)?.data ?? new Uint8Array(), 0, 90),
      }),
    'does not hold a VaultBatchTransaction',
  ],
  ['an empty account', () => withAccount(at.batch, { data: new Uint8Array() }), 'does not hold a Batch'],
  [
    'a multisig with another create key',
    () =>
      changed((state) => {
        state.multisig = { ...state.multisig, createKey: stranger };
      }),
    'not at the address of a multisig',
  ],
  [
    'a batch of another multisig',
    () =>
      changed((state) => {
        state.batch = { ...state.batch, multisig: stranger };
      }),
    `of the multisig ${stranger}`,
  ],
  [
    'a batch with another index',
    () =>
      changed((state) => {
        state.batch = { ...state.batch, index: 8n };
      }),
    'says it is number 8',
  ],
  [
    'a batch with another vault bump',
    () =>
      changed((state) => {
        state.batch = { ...state.batch, vaultBump: 3 };
      }),
    'another address than its vault',
  ],
  [
    'a proposal of another multisig',
    () =>
      changed((state) => {
        state.proposal = { ...state.proposal, multisig: stranger };
      }),
    `of the multisig ${stranger}`,
  ],
  [
    'a proposal of another batch',
    () =>
      changed((state) => {
        state.proposal = { ...state.proposal, transactionIndex: 9n };
      }),
    'is for number 9',
  ],
  [
    'a transaction with another bump',
    () =>
      changed((state) => {
        state.transactions[1] = { ...(state.transactions[1] as BatchState['transactions'][number]), bump: 1 };
      }),
    'states another bump',
  ],
  [
    'a transaction more than the pipelines',
    () => accountsOf(batchState([...goodInstructions(), goodInstructions()[0] as Instruction[]])),
    'the chain has 4 pipelines, expected 3',
  ],
  [
    'a transaction less than the pipelines',
    () => accountsOf(batchState(goodInstructions().slice(0, 2))),
    'the chain has 2 pipelines, expected 3',
  ],
  [
    'ephemeral signers',
    () =>
      changed((state) => {
        state.transactions[1] = {
          ...(state.transactions[1] as BatchState['transactions'][number]),
          ephemeralSignerBumps: Uint8Array.of(255),
        };
      }),
    '1 ephemeral signers',
  ],
  [
    'an ephemeral signer in the message',
    () => withAdded(memo('x', [ephemeralSignerAddress(at.batch, 0).address])),
    'it needs a signature of',
  ],
  [
    'a lookup table',
    () =>
      withMessage(() => ({
        lookups: [{ table: stranger, writableIndexes: Uint8Array.of(0), readonlyIndexes: new Uint8Array() }],
      })),
    'lookup table',
  ],
  ['more signers than keys', () => withMessage(() => ({ signers: 200 })), 'malformed'],
  ['a second signer in the header', () => withMessage(() => ({ signers: 2 })), 'it needs a signature of'],
  [
    'an index beyond the keys',
    () =>
      withMessage(({ instructions }) => ({
        instructions: instructions.map((one) => ({ ...one, programIndex: 99 })),
      })),
    'malformed',
  ],
  [
    'a proposal that is still a draft',
    () =>
      changed((state) => {
        state.proposal = { ...state.proposal, status: { kind: 'Draft', timestamp: 0n } };
      }),
    'is Draft',
  ],
  [
    'a proposal that is cancelled',
    () =>
      changed((state) => {
        state.proposal = { ...state.proposal, status: { kind: 'Cancelled', timestamp: 0n } };
      }),
    'is Cancelled',
  ],
  [
    'a proposal that the owner has approved',
    () =>
      changed((state) => {
        state.proposal = { ...state.proposal, approved: [owner] };
      }),
    'has already approved',
  ],
  [
    'a stale batch',
    () =>
      changed((state) => {
        state.multisig = { ...state.multisig, staleTransactionIndex: batchIndex };
      }),
    'is stale',
  ],
  [
    'a multisig without the owner',
    () =>
      changed((state) => {
        state.multisig = { ...state.multisig, members: [{ key: operator, permissions: 7 }] };
      }),
    'is not a member',
  ],
  [
    'an owner without a vote',
    () =>
      changed((state) => {
        state.multisig = { ...state.multisig, members: [{ key: owner, permissions: 5 }] };
      }),
    'no right to vote',
  ],
  [
    'a batch that has begun to run',
    () =>
      changed((state) => {
        state.batch = { ...state.batch, executedTransactionIndex: 1 };
      }),
    'have already run',
  ],
];

describe('the checks refuse', () => {
  it.each(ACCOUNTS)('%s', async (_name, attack, reason) => {
    expect(await refusal(attack())).toContain(reason);
  });
});

describe('isAsDescribed', () => {
  const changes: readonly [string, (state: BatchState, accounts: Accounts) => void][] = [
    ['another holds as many', (state) => state.transactions.reverse()],
    [
      'one byte of an instruction is another',
      ({ transactions: [first] }) => {
        const data = first?.message.instructions.at(-1)?.data as Uint8Array;
        data[1] = (data[1] ?? 0) ^ 1;
      },
    ],
    [
      'an account may be written',
      (state) => {
        const [first] = state.transactions;
        if (first === undefined) return;
        const { writableNonSigners } = first.message;
        Object.assign(first, { message: { ...first.message, writableNonSigners: writableNonSigners + 1 } });
      },
    ],
    [
      'the program would sign for one more',
      ({ transactions: [first] }) => {
        Object.assign(first ?? {}, { ephemeralSignerBumps: Uint8Array.of(1) });
      },
    ],
    [
      'somebody else has set it up',
      ({ batch }) => Object.assign(batch, { creator: namedAddress('mallory') }),
    ],
    ['it holds fewer', ({ batch }) => Object.assign(batch, { size: 2 })],
    ['it acts for another vault', ({ batch }) => Object.assign(batch, { vaultIndex: 1 })],
    ['the batch is gone', (_, accounts) => accounts.delete(transactionAddress(multisig, batchIndex).address)],
    [
      'a transaction is gone',
      (_, accounts) => accounts.delete(batchTransactionAddress(multisig, batchIndex, 2).address),
    ],
  ];
  const described = () => readBatch(readerOf(accountsOf(batchState())), { multisig, batchIndex });

  it('is, whatever has become of the proposal', async () => {
    const state = batchState();
    state.proposal = { ...state.proposal, approved: [operator] };
    const reader = readerOf(accountsOf(state));
    expect(await isAsDescribed(reader, await described())).toBe(true);
    expect(reader.calls).toBe(2);
  });

  it.each(changes)('is not when %s', async (_what, change) => {
    const state = batchState(
      goodInstructions().map((inner) => inner.map((one) => ({ ...one, data: Uint8Array.from(one.data) }))),
    );
    const before = accountsOf(state);
    change(state, before);
    const after = accountsOf(state);
    for (const address of after.keys()) if (!before.has(address)) after.delete(address);
    expect(await isAsDescribed(readerOf(after), await described())).toBe(false);
  });
});
