/** The past of a batch, where other programs and lookup tables stand between it and its reader. */

import { describe, expect, it } from 'vitest';
import type { TransactionRecord } from '../../../../src/chain/chain.js';
import { SQUADS_PROGRAM } from '../../../../src/chain/programs.js';
import { transactionAddress } from '../../../../src/chain/squads/addresses.js';
import { batchExecuteTransaction } from '../../../../src/chain/squads/builders.js';
import { readPastBatch } from '../../../../src/chain/squads/history.js';
import type { Instruction } from '../../../../src/chain/transaction/message.js';
import { compile } from '../../../../src/chain/transaction/message.js';
import {
  batchIndex,
  goodInstructions,
  multisig,
  operator,
  vaultAt,
} from '../../../support/batch-on-chain.js';
import { namedAddress } from '../../../support/oracle.js';
import { nodeOf, type Past, pastOf } from '../../cli/past-batch.js';

const ref = { multisig, batchIndex };
const good = goodInstructions();
const INNER_LOG = `Program ${SQUADS_PROGRAM} invoke [2]`;

const read = (past: Past, kept: Record<string, Partial<TransactionRecord>> = {}) => {
  return readPastBatch(nodeOf(past, { kept }), ref);
};
const executed = async (past: Past, kept: Record<string, Partial<TransactionRecord>>) =>
  (await read(past, kept))?.transactions.map((transaction) => transaction.executed?.signature ?? null);

/** A call of a program of somebody that is given the multisig program, and the batch. */
const stranger: Instruction = {
  program: namedAddress('a program of somebody'),
  accounts: [transactionAddress(multisig, batchIndex).address, SQUADS_PROGRAM].map((address) => ({
    address,
    signer: false,
    writable: false,
  })),
  data: Buffer.of(1),
};

const second = batchExecuteTransaction({
  ...ref,
  ...{ rentPayer: operator, creator: operator, member: operator, number: 2, vault: vaultAt.address },
  message: compile(vaultAt.address, good[1] ?? []),
});
const innerCall = {
  program: second.program,
  accounts: second.accounts.map(({ address }) => address),
  data: second.data,
};

describe('a transaction of somebody that names the batch', () => {
  const past = (): Past => pastOf(good, 1).set('stranger', [stranger]);

  it('hides nothing where the node has kept what it called', async () => {
    const harmless = { ...innerCall, accounts: innerCall.accounts.map(() => namedAddress('another')) };
    const kept = { stranger: { logs: [INNER_LOG], innerCalls: [harmless] } };
    expect(await executed(past(), kept)).toEqual(['executed1', null, null]);
  });

  it('counts what it executed', async () => {
    const kept = { stranger: { logs: [INNER_LOG], innerCalls: [innerCall] } };
    expect(await executed(past(), kept)).toEqual(['executed1', 'stranger', null]);
  });

  it('leaves the past untold where its logs tell of more calls than the node has kept', async () => {
    const kept = { stranger: { logs: [INNER_LOG, INNER_LOG], innerCalls: [innerCall] } };
    expect(await read(past(), kept)).toBeNull();
    expect(await read(past(), { stranger: { logs: [INNER_LOG] } })).toBeNull();
    expect(await read(past(), { stranger: { logs: ['Log truncated'] } })).toBeNull();
  });
});
