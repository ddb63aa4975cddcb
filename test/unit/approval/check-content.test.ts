import {
  createApproveInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createTransferInstruction,
} from '@solana/spl-token';
import { describe, expect, it } from 'vitest';
import { checkBatchContent } from '../../../src/approval/check-content.js';
import { memo } from '../../../src/chain/memo.js';
import { MEMO_PROGRAM, TOKEN_2022_PROGRAM } from '../../../src/chain/programs.js';
import { vaultAddress } from '../../../src/chain/squads/layouts/addresses.js';
import { transfer } from '../../../src/chain/system.js';
import { setAuthority } from '../../../src/chain/tokens/instructions.js';
import { type Instruction, readonlySigner } from '../../../src/chain/transaction/instruction.js';
import {
  burnOf,
  createOf,
  describeAccounts,
  recipient,
  refusal,
  stranger,
  transferOf,
  withAdded,
} from '../../support/batch-checks.js';
import { accountsOf, batchState, flywheel, multisig, vaultToken } from '../../support/batch-on-chain.js';
import { fromWeb3, namedAddress, publicKey } from '../../support/oracle.js';

const { mint, vault, vaultTokenAccount, tokenProgram } = vaultToken;
const key = publicKey;

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

  it('the instruction at its place', async () => {
    expect(await refusal(withAdded(burnOf({}), burnOf({ mint: stranger })))).toContain(
      'Transaction 2 of the batch: instruction 8: the mint is',
    );
  });

  it('a batch of another vault', async () => {
    const other = vaultAddress(multisig, 1);
    const state = batchState();
    state.batch = { ...state.batch, vaultIndex: 1, vaultBump: other.bump };
    expect(await refusal(accountsOf(state))).toContain(`acts for the vault ${other.address}`);
  });

  it('another vault than the flywheel has', async () => {
    const description = await describeAccounts(accountsOf(batchState()));
    expect(() => checkBatchContent(description, { ...flywheel, vault: stranger })).toThrow(
      'acts for the vault',
    );
    expect(() => checkBatchContent(description, { ...flywheel, mint: stranger })).toThrow('the mint is');
    expect(() => checkBatchContent(description, { ...flywheel, vaultTokenAccount: stranger })).toThrow(
      'from the account',
    );
  });

  it('a batch without transactions, and a transaction without instructions', async () => {
    expect(await refusal(accountsOf(batchState([])))).toContain('holds no transaction');
    expect(await refusal(accountsOf(batchState([[]])))).toContain('it does nothing');
  });
});
