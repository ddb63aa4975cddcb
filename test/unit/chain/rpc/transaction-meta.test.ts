/** Metadata of a transaction from a node: used if it is consistent, ignored otherwise. */
import { describe, expect, it } from 'vitest';
import { metaOf } from '../../../../src/chain/rpc/schemas.js';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/sign.js';
import {
  compileLegacyMessage,
  decodeTransaction,
  encodeMessage,
  encodeTransaction,
} from '../../../../src/chain/transaction/wire.js';
import { base58Encode } from '../../../../src/values/bytes.js';
import type { JsonObject } from '../../../../src/values/canonical-json.js';
import { signTransaction } from '../../../support/chain.js';
import { namedAddress } from '../../../support/oracle.js';

const payer = createKeypairSigner(generateKeypair());
const [mint, account, program] = ['mint', 'account', 'program'].map(namedAddress) as [never, never, never];
const [fromTable, readFromTable] = [namedAddress('from a table'), namedAddress('read from a table')];
const legacy = signTransaction(
  compileLegacyMessage({
    payer: payer.address,
    instructions: [
      { program, accounts: [{ address: account, signer: false, writable: true }], data: Buffer.of(1) },
    ],
    blockhash: namedAddress('blockhash'),
  }),
  [payer],
).bytes;
const { message, signatures } = decodeTransaction(legacy);
/** One writable and one read-only address come from a table. */
const lookups = [
  { table: namedAddress('table'), writableIndexes: Uint8Array.of(5), readonlyIndexes: Uint8Array.of(7) },
];
const bytes = encodeTransaction(signatures, encodeMessage({ ...message, version: 0, lookups }));
// The message names payer, account, program, in this order.
const loadedAddresses = { writable: [fromTable], readonly: [readFromTable] };
const balance = (accountIndex: number, amount: string) => ({
  accountIndex,
  mint,
  owner: payer.address,
  uiTokenAmount: { amount, decimals: 6, uiAmountString: '' },
});

describe('token balances', () => {
  it('become changes, also of accounts that were made, closed, or come from a table', () => {
    const meta = {
      loadedAddresses,
      preTokenBalances: [balance(1, '10'), balance(4, '18446744073709551615')],
      postTokenBalances: [balance(1, '4'), balance(3, '7')],
    };
    expect(metaOf(meta, bytes).tokenChanges).toEqual([
      { account, mint, before: 10n, after: 4n },
      { account: readFromTable, mint, before: 18_446_744_073_709_551_615n, after: 0n },
      { account: fromTable, mint, before: null, after: 7n },
    ]);
    expect(metaOf({ preTokenBalances: [], postTokenBalances: [] }, bytes).tokenChanges).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ['that were not kept', {}],
    ['of which one side was not kept', { preTokenBalances: [], postTokenBalances: null }],
    ['of an account that nobody names', { preTokenBalances: [], postTokenBalances: [balance(9, '1')] }],
    ['of no amount', { preTokenBalances: [balance(1, '-1')], postTokenBalances: [] }],
    ['of an amount with a fraction', { preTokenBalances: [balance(1, '1.5')], postTokenBalances: [] }],
    ['that are no objects', { preTokenBalances: [7], postTokenBalances: [] }],
    [
      'of a mint that is none',
      { preTokenBalances: [{ ...balance(1, '1'), mint: 'x' }], postTokenBalances: [] },
    ],
  ])('%s tell nothing', (_what, meta) => {
    expect(metaOf(meta, bytes).tokenChanges).toBeUndefined();
  });
});

describe('inner calls', () => {
  const call = {
    programIdIndex: 2,
    accounts: [0, 1, 3],
    data: base58Encode(Buffer.of(9, 8)),
    stackHeight: 2,
  };
  const calls = (instructions: readonly unknown[]): JsonObject =>
    ({ loadedAddresses, innerInstructions: [{ index: 0, instructions }] }) as unknown as JsonObject;

  it('are read with every account named', () => {
    expect(metaOf(calls([call, { ...call, accounts: [], data: '' }]), bytes).innerCalls).toEqual([
      { program, accounts: [payer.address, account, fromTable], data: Uint8Array.of(9, 8) },
      { program, accounts: [], data: new Uint8Array() },
    ]);
    expect(metaOf({ innerInstructions: [] }, bytes).innerCalls).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ['that were not kept', { innerInstructions: null }],
    ['of a program that nobody names', calls([{ ...call, programIdIndex: 7 }])],
    ['with an account that nobody names', calls([{ ...call, accounts: [5] }])],
    ['in another form', calls([{ parsed: {}, program: 'spl-token' }])],
    ['with data that is no base58', calls([{ ...call, data: '0' }])],
    ['more than a transaction can have', calls(Array.from({ length: 65 }, () => call))],
    ['in no list', { innerInstructions: [{ index: 0, instructions: null }] }],
  ])('%s tell nothing', (_what, meta) => {
    expect(metaOf(meta, bytes).innerCalls).toBeUndefined();
  });

  it('are read without data that is too long to be of a program that matters', () => {
    const [long] = metaOf(calls([{ ...call, data: '2'.repeat(14_000) }]), bytes).innerCalls ?? [];
    expect(long?.data).toHaveLength(0);
  });

  it('have addresses of tables only where all of them are addresses', () => {
    expect(metaOf({ loadedAddresses }, bytes).tableAddresses).toEqual([fromTable, readFromTable]);
    expect(metaOf({}, bytes).tableAddresses).toBeUndefined();
    expect(metaOf({ loadedAddresses: { writable: [fromTable] } }, bytes).tableAddresses).toBeUndefined();
    expect(
      metaOf({ loadedAddresses: { writable: ['x'], readonly: [] } }, bytes).tableAddresses,
    ).toBeUndefined();
  });

  it('have no more addresses of tables than the transaction takes from them, and no fewer', () => {
    const tables = (writable: readonly string[], readonly: readonly string[]): JsonObject => ({
      loadedAddresses: { writable: [...writable], readonly: [...readonly] },
    });
    expect(metaOf(tables([fromTable, fromTable], []), bytes).tableAddresses).toBeUndefined();
    expect(metaOf(tables([fromTable], []), bytes).tableAddresses).toBeUndefined();
    expect(metaOf(tables([], []), legacy).tableAddresses).toEqual([]);
    expect(metaOf(calls([call]), legacy).innerCalls).toBeUndefined();
  });
});
