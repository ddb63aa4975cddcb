/** The history of a batch through other programs and lookup tables. */

import { AddressLookupTableAccount, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import type { TransactionRecord } from '../../../../src/chain/chain.js';
import { SQUADS_PROGRAM } from '../../../../src/chain/programs.js';
import { proposalAddress, transactionAddress } from '../../../../src/chain/squads/addresses.js';
import {
  batchAccountsClose,
  batchExecuteTransaction,
  proposalCancelV2,
  proposalReject,
} from '../../../../src/chain/squads/builders.js';
import { readPastBatch } from '../../../../src/chain/squads/history.js';
import { compile, type Instruction } from '../../../../src/chain/transaction/message.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import type { Address } from '../../../../src/values/address.js';
import { namedAddress, publicKey, toWeb3 } from '../../../support/oracle.js';
import {
  accountsOf,
  batchIndex,
  batchState,
  instructionsOf,
  multisig,
  operator,
  owner,
  vaultAt,
} from '../../batch-on-chain.js';
import { nodeOf, type Past, pastOf } from '../../cli/past-batch.js';

const ref = { multisig, batchIndex };
const good = instructionsOf();
const INNER_LOG = `Program ${SQUADS_PROGRAM} invoke [2]`;

const read = (past: Past, kept: Record<string, Partial<TransactionRecord>> = {}) => {
  return readPastBatch(nodeOf(past, { kept }), ref);
};
const executed = async (past: Past, kept: Record<string, Partial<TransactionRecord>>) =>
  (await read(past, kept))?.transactions.map((transaction) => transaction.executed?.signature ?? null);

/** An instruction of a foreign program with the multisig program and the batch among its accounts. */
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

it('an execution that the node lacks is not taken for none', async () => {
  const without = (number: number): Past => {
    const past = pastOf(good, good.length);
    past.delete(`executed${number}`);
    return past;
  };
  expect(await read(without(1))).toBeNull();
  const last = without(good.length);
  expect((await read(last))?.transactions.at(-1)?.executed).toBeNull();
  expect(await read(new Map([...last, ['closed', [close]]]))).toBeNull();
  const both = [owner, operator].map((member) => proposalCancelV2({ ...ref, member }));
  const ended = await read(new Map([...last, ['cancelled', both], ['closed', [close]]]));
  expect([ended?.isClosed, ended?.transactions.at(-1)?.executed]).toEqual([true, null]);
});

const close = batchAccountsClose({ ...ref, rentCollector: operator });

/** With a multisig of two. */
function withMultisig(past: Past, { threshold = 2, stale = false } = {}): ReturnType<typeof nodeOf> {
  const state = batchState();
  const staleTransactionIndex = stale ? batchIndex : 0n;
  const changed = { ...state.multisig, threshold, staleTransactionIndex };
  const accounts = accountsOf({ ...state, multisig: changed, transactions: [] });
  const getAccounts = async (all: readonly Address[]) => all.map((account) => accounts.get(account) ?? null);
  return { ...nodeOf(past), getAccounts };
}

const rejected: [string, Instruction[]] = ['rejected', [proposalReject({ ...ref, member: owner })]];
const cancelled: [string, Instruction[]] = ['cancelled', [proposalCancelV2({ ...ref, member: owner })]];

it.each<
  [string, { threshold?: number; stale?: boolean; approvals?: number; before?: Past; after?: Past }, boolean]
>([
  ['one approval of two', { approvals: 1 }, false],
  ['one approval of one', { approvals: 1, threshold: 1 }, false],
  ['one rejection of two needed', { threshold: 1, after: new Map([rejected]) }, false],
  ['a rejection', { approvals: 1, after: new Map([rejected]) }, true],
  ['one approval, and then stale', { approvals: 1, stale: true }, true],
  ['two approvals, and then stale', { stale: true }, false],
  ['a rejection taken back, and then stale', { stale: true, before: new Map([rejected]) }, false],
  ['one cancellation of two, and then stale', { stale: true, after: new Map([cancelled]) }, false],
])(
  'a batch that was closed after %s',
  async (_, { approvals = 2, before = [], after = [], ...terms }, isTold) => {
    const past: Past = new Map([...before, ...pastOf(good, 0), ...after, ['closed', [close]]]);
    if (approvals === 1) past.delete(`approved by ${operator.slice(0, 4)}`);
    expect((await readPastBatch(withMultisig(past, terms), ref)) !== null).toBe(isTold);
  },
);

it('a batch is told beside more transactions of strangers than are read', async () => {
  const node = withMultisig(pastOf(good, good.length));
  const { address: batch } = transactionAddress(multisig, batchIndex);
  const noise = Array.from({ length: 50_000 }, (_, at) => ({
    ...{ signature: `noise${at}`, slot: 1, failed: false, memo: null, blockTimeMs: null },
    isAgreed: true,
  }));
  const flooded: typeof node = {
    ...node,
    history: async (account, terms) => {
      return [...(account === batch ? noise : []), ...(await node.history(account, terms))];
    },
  };
  const told = await readPastBatch(flooded, ref);
  expect(told?.transactions.map(({ executed: by }) => by?.signature)).toEqual(
    good.map((_, at) => `executed${at + 1}`),
  );
  expect(told?.votes.approved).toHaveLength(2);
});

it('a batch is not told where a node does not answer for one of its accounts', async () => {
  const node = nodeOf(pastOf(good, good.length));
  const proposal = proposalAddress(multisig, batchIndex).address;
  const silent: typeof node = {
    ...node,
    history: async (account, terms) => {
      if (account === proposal) throw new FlywheelError('ERR_UNAVAILABLE', 'The RPC node does not answer.');
      return node.history(account, terms);
    },
  };
  expect(await readPastBatch(silent, ref)).toBeNull();
});

it('an execution that names its accounts by a lookup table is told', async () => {
  const { keys } = toWeb3(second);
  const named = keys.filter(({ isSigner }) => !isSigner).map(({ pubkey }) => pubkey);
  const state = {
    addresses: named,
    deactivationSlot: 0n,
    lastExtendedSlot: 0,
    lastExtendedSlotStartIndex: 0,
  };
  const table = new AddressLookupTableAccount({ key: publicKey(namedAddress('a table')), state });
  const terms = { payerKey: publicKey(operator), recentBlockhash: multisig, instructions: [toWeb3(second)] };
  const message = new TransactionMessage(terms).compileToV0Message([table]);
  const tableAddresses = message.addressTableLookups
    .flatMap(({ writableIndexes, readonlyIndexes }) => [...writableIndexes, ...readonlyIndexes])
    .map((index) => String(named[index]) as Address);
  expect(tableAddresses.length).toBeGreaterThan(3);
  const kept = { executed2: { wire: new VersionedTransaction(message).serialize(), tableAddresses } };
  expect(await executed(pastOf(good, 2), kept)).toEqual(['executed1', 'executed2', null]);
  expect(
    await read(pastOf(good, 2), { executed2: { ...kept.executed2, tableAddresses: undefined } }),
  ).toBeNull();
});

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
