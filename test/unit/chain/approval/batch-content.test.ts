import {
  createApproveInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createTransferInstruction,
} from '@solana/spl-token';
import { describe, expect, it } from 'vitest';
import { checkApprovable, checkBatchContent } from '../../../../src/chain/approval/check-content.js';
import { compareWithPipelines } from '../../../../src/chain/approval/compare-pipelines.js';
import {
  digestText,
  parseDigestText,
  pipelinesDigest,
  type SourcePipeline,
} from '../../../../src/chain/approval/pipelines.js';
import { readBatch } from '../../../../src/chain/approval/read-batch.js';
import { memo } from '../../../../src/chain/memo.js';
import { MEMO_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import {
  batchTransactionAddress,
  ephemeralSignerAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../../../../src/chain/squads/layouts/addresses.js';
import type { InnerMessage } from '../../../../src/chain/squads/layouts/message.js';
import { transfer } from '../../../../src/chain/system.js';
import { associatedTokenAddress } from '../../../../src/chain/tokens/addresses.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  setAuthority,
  transferChecked,
} from '../../../../src/chain/tokens/instructions.js';
import { type Instruction, readonlySigner } from '../../../../src/chain/transaction/instruction.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import type { Address } from '../../../../src/values/address.js';
import { sha256 } from '../../../../src/values/digest.js';
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
  pipelines,
  readerOf,
  vaultToken,
} from '../../../support/batch-on-chain.js';
import { fromWeb3, namedAddress, publicKey } from '../../../support/oracle.js';

const { mint, vault, vaultTokenAccount, tokenProgram } = vaultToken;
const stranger = namedAddress('stranger');
const amounts = { mint, decimals: 6, tokenProgram, owner: vault };

const describeAccounts = (accounts: Accounts) => readBatch(readerOf(accounts), { multisig, batchIndex });

/** Every check that `approve --expect` makes, on these accounts. */
async function refusal(accounts: Accounts, expected: readonly SourcePipeline[] = pipelines): Promise<string> {
  try {
    const description = await describeAccounts(accounts);
    checkBatchContent(description, vaultToken);
    checkApprovable(description, owner);
    compareWithPipelines(description, expected, vaultToken);
  } catch (error) {
    if (isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) return error.message;
    throw error;
  }
  return 'accepted';
}

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

describe('digest', () => {
  it('of the file equals that of the chain, and has a text form', async () => {
    const { digest } = await describeAccounts(accountsOf(batchState()));
    expect(digest).toBe(pipelinesDigest(pipelines));
    const text = digestText(pipelinesDigest(pipelines));
    expect(text).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(parseDigestText(text)).toBe(digest);
    expect(parseDigestText(text.slice(0, -1))).toBeUndefined();
    expect(parseDigestText(`md5${text}`)).toBeUndefined();
  });

  it('is that of a known text', () => {
    const canonical = `[{"actions":[{"action":"BURN","amount":"0.0000001"},{"action":"MEMO","message":"hi"}],"hash":"${sha256('p')}","type":"T"}]`;
    const file: SourcePipeline = {
      type: 'T',
      proofHash: sha256('p'),
      actions: [
        { action: 'BURN', amount: 1e-7 },
        { action: 'MEMO', message: 'hi' },
      ],
    };
    expect(pipelinesDigest([file])).toBe(sha256(canonical));
  });

  it('changes with order, type, hash, kind, amount, recipient and message', () => {
    const [first, second, third] = pipelines as [SourcePipeline, SourcePipeline, SourcePipeline];
    const [airdrop, text, last] = second.actions as [never, never, never];
    const variants: readonly (readonly SourcePipeline[])[] = [
      pipelines,
      [second, first, third],
      [first, second],
      [{ ...first, type: 'OTHER' }, second, third],
      [{ ...first, proofHash: sha256('x') }, second, third],
      [{ ...first, actions: [{ action: 'BURN', amount: 1.6 }] }, second, third],
      [{ ...first, actions: [{ action: 'MEMO', message: '1.5' }] }, second, third],
      [first, { ...second, actions: [airdrop, last, text] }, third],
      [
        first,
        { ...second, actions: [{ ...(airdrop as object), toAddress: stranger } as never, text, last] },
        third,
      ],
      [first, { ...second, actions: [airdrop, { action: 'MEMO', message: 'thank you!' }, last] }, third],
    ];
    expect(new Set(variants.map((variant) => pipelinesDigest(variant))).size).toBe(variants.length);
  });

  it('is missing where the content is not that of pipelines', async () => {
    const description = await describeAccounts(accountsOf(batchState([[memo('no proof', [vault])]])));
    expect(description).toMatchObject({ digest: null, pipelines: null });
    expect(description.pipelinesProblem).toContain('Transaction 1 is no pipeline');
  });
});

/** Adds an instruction at the end of the second transaction. */
const withAdded = (...added: Instruction[]): Accounts => {
  const [first, second, third] = goodInstructions() as [Instruction[], Instruction[], Instruction[]];
  return accountsOf(batchState([first, [...second, ...added], third]));
};
const key = publicKey;
const recipient = associatedTokenAddress(stranger, mint, tokenProgram);
const burnOf = (change: object): Instruction =>
  burnChecked({ ...amounts, account: vaultTokenAccount, amount: 1n, ...change });
const transferOf = (change: object): Instruction =>
  transferChecked({ ...amounts, from: vaultTokenAccount, to: recipient, amount: 1n, ...change });
const createOf = (change: object): Instruction =>
  createAssociatedTokenAccountIdempotent({ payer: vault, owner: stranger, mint, tokenProgram, ...change });

/** Instructions that no batch may hold, with the reason each is refused for. */
const FOREIGN: readonly (readonly [string, Instruction, string])[] = [
  [
    'a transfer of SOL',
    transfer({ from: vault, to: stranger, lamports: 1n }),
    'is not one that a batch may call',
  ],
  [
    'an unchecked burn',
    fromWeb3(createBurnInstruction(key(vaultTokenAccount), key(mint), key(vault), 1)),
    'Burn (unchecked)',
  ],
  [
    'an unchecked transfer',
    fromWeb3(createTransferInstruction(key(vaultTokenAccount), key(recipient), key(vault), 1)),
    'Transfer (unchecked)',
  ],
  [
    'a delegate',
    fromWeb3(createApproveInstruction(key(vaultTokenAccount), key(stranger), key(vault), 1)),
    'Approve',
  ],
  [
    'a closing of the account',
    fromWeb3(createCloseAccountInstruction(key(vaultTokenAccount), key(stranger), key(vault))),
    'CloseAccount',
  ],
  [
    'a new owner of the account',
    setAuthority({
      account: vaultTokenAccount,
      currentAuthority: vault,
      type: 'accountOwner',
      newAuthority: stranger,
      tokenProgram,
    }),
    'SetAuthority',
  ],
  [
    'a new mint authority',
    setAuthority({
      account: mint,
      currentAuthority: vault,
      type: 'mintTokens',
      newAuthority: stranger,
      tokenProgram,
    }),
    'SetAuthority',
  ],
  ['a token instruction without data', { ...burnOf({}), data: new Uint8Array() }, 'without data'],
  ['a token instruction of an unknown number', { ...burnOf({}), data: Uint8Array.of(255) }, 'number 255'],
  [
    'a burn with data behind it',
    { ...burnOf({}), data: Uint8Array.from([...burnOf({}).data, 0]) },
    '11 bytes',
  ],
  [
    'a burn with signers of a token multisig',
    { ...burnOf({}), accounts: [...burnOf({}).accounts, readonlySigner(vault)] },
    '4 accounts',
  ],
  [
    'a transfer with accounts of a hook',
    { ...transferOf({}), accounts: [...transferOf({}).accounts, readonlySigner(vault)] },
    '5 accounts',
  ],
  ['a burn of another mint', burnOf({ mint: stranger }), `the mint is ${stranger}`],
  ['a burn from another account', burnOf({ account: recipient }), `from the account ${recipient}`],
  ['a burn by another owner', burnOf({ owner: stranger }), `signature of ${stranger}`],
  [
    'a burn in the other token program',
    burnOf({ tokenProgram: TOKEN_2022_PROGRAM }),
    `the token program is ${TOKEN_2022_PROGRAM}`,
  ],
  ['a burn that states other decimals', burnOf({ decimals: 9 }), '9 decimals'],
  ['a transfer of another mint', transferOf({ mint: stranger }), `the mint is ${stranger}`],
  ['a transfer from another account', transferOf({ from: recipient }), `from the account ${recipient}`],
  ['a transfer that states other decimals', transferOf({ decimals: 5 }), '5 decimals'],
  ['a token account of another mint', createOf({ mint: namedAddress('other mint') }), 'the mint is'],
  ['a token account that another pays', createOf({ payer: stranger }), `signature of ${stranger}`],
  [
    'a creation that fails if it is there',
    { ...createOf({}), data: Uint8Array.of(0) },
    'not the idempotent creation',
  ],
  [
    'a creation at another address',
    {
      ...createOf({}),
      accounts: createOf({}).accounts.map((meta, at) =>
        at === 1 ? { ...meta, address: vaultTokenAccount } : meta,
      ),
    },
    'not the associated token account',
  ],
  [
    'a creation with another system program',
    {
      ...createOf({}),
      accounts: createOf({}).accounts.map((meta, at) =>
        at === 4 ? { ...meta, address: MEMO_PROGRAM } : meta,
      ),
    },
    'other programs',
  ],
  ['a memo signed by a stranger', memo('x', [stranger]), `signature of ${stranger}`],
  ['a memo that is no text', { ...memo('', [vault]), data: Uint8Array.of(0xff, 0xfe) }, 'not UTF-8'],
];

describe('checkBatchContent refuses', () => {
  it.each(FOREIGN)('%s', async (_name, instruction, reason) => {
    const message = await refusal(withAdded(instruction));
    expect(message).toContain('Transaction 2');
    expect(message).toContain(reason);
  });

  it('a batch of another vault', async () => {
    const other = vaultAddress(multisig, 1);
    const state = batchState();
    state.batch = { ...state.batch, vaultIndex: 1, vaultBump: other.bump };
    expect(await refusal(accountsOf(state))).toContain(`acts for the vault ${other.address}`);
  });

  it('another vault than the flywheel has', async () => {
    const description = await describeAccounts(accountsOf(batchState()));
    expect(() => checkBatchContent(description, { ...vaultToken, vault: stranger })).toThrow(
      'acts for the vault',
    );
    expect(() => checkBatchContent(description, { ...vaultToken, mint: stranger })).toThrow('the mint is');
    expect(() => checkBatchContent(description, { ...vaultToken, vaultTokenAccount: stranger })).toThrow(
      'from the account',
    );
  });

  it('a batch without transactions, and a transaction without instructions', async () => {
    expect(await refusal(accountsOf(batchState([])))).toContain('holds no transaction');
    expect(await refusal(accountsOf(batchState([[]])))).toContain('it does nothing');
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
    () => withAccount(at.second, { data: accountsOf(batchState()).get(at.second)?.data.subarray(0, 90) }),
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
      'pipelines[0].actions[0]: the chain has BURN 1.500001, expected BURN 1.5',
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
      'pipelines[0].actions[1]: the chain has MEMO "more", expected nothing',
    ],
    [
      'an added burn',
      () => replaced(0, [proofMemo, burn, burn]),
      'pipelines[0].actions[1]: the chain has BURN 1.5, expected nothing',
    ],
    ['a missing action', () => replaced(0, [proofMemo]), 'the chain has nothing, expected BURN 1.5'],
    [
      'a memo instead of a burn',
      () => replaced(0, [proofMemo, memo('1.5', [vault])]),
      'the chain has MEMO "1.5", expected BURN 1.5',
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
      'pipelines[1].actions[0]: the chain has MEMO',
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
      `the chain has AIRDROP 2 to ${stranger}, expected AIRDROP 2 to ${namedAddress('alice')}`,
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
