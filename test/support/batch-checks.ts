/** Helpers for unit tests that read one batch on chain. */
import { readBatch } from '../../src/approval/read-batch.js';
import { burnChecked } from '../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import { type Accounts, batchIndex, multisig, readerOf, vaultToken } from './batch-on-chain.js';
import { namedAddress } from './oracle.js';

const { mint, vault, vaultTokenAccount, tokenProgram } = vaultToken;
export const stranger = namedAddress('stranger');

export const describeAccounts = (accounts: Accounts) =>
  readBatch(readerOf(accounts), { multisig, batchIndex });

export const burnOf = (change: object): Instruction =>
  burnChecked({
    ...{ mint, decimals: 6, tokenProgram, owner: vault, account: vaultTokenAccount, amount: 1n },
    ...change,
  });
