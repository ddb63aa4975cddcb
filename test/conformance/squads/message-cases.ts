/** Checks during the execution of a message, and limits on its instructions (squads-v4.md, section 8). */
import { type Case, caseOf } from './case.js';
import { addressNamed, type Fixture, fixtureOf, type Meta } from './fixture.js';
import { BATCH_TRANSACTION, type BatchTransaction, rewrite } from './rewrite.js';

const stranger = addressNamed('stranger');
/** Accounts of batchExecuteTransaction itself. */
const LISTED = 5;

const lookups = 'batch-execute-transaction/ok-two-lookup-tables';
const plain = 'batch-execute-transaction/ok-burn-checked';

type Row = readonly [
  name: string,
  vector: string,
  expected: number | string,
  prepare: (fixture: Fixture) => void,
];

const withAccounts = (change: (accounts: Meta[]) => Meta[]) => (fixture: Fixture) => {
  fixture.instruction = { ...fixture.instruction, accounts: change([...fixture.instruction.accounts]) };
};

const tableData = (change: (data: Buffer) => Uint8Array) => (fixture: Fixture) =>
  fixture.setState(LISTED, { data: change(Buffer.from(fixture.state(LISTED).data)) });

const extra: Meta = { address: stranger, signer: false, writable: false };

type Message = BatchTransaction['message'];

const numbers: readonly Row[] = [
  ['no remaining account at all', lookups, 6013, withAccounts((accounts) => accounts.slice(0, LISTED))],
  ['fewer accounts than tables', lookups, 6013, withAccounts((accounts) => accounts.slice(0, LISTED + 1))],
  ['tables and nothing else', lookups, 6013, withAccounts((accounts) => accounts.slice(0, LISTED + 2))],
  ['one too few', plain, 6013, withAccounts((accounts) => accounts.slice(0, -1))],
  ['one too many', plain, 6013, withAccounts((accounts) => [...accounts, extra])],
];

const tables: readonly Row[] = [
  ['as recorded', lookups, 'ok', () => {}],
  ['deactivated', lookups, 'ok', tableData((data) => data.fill(1, 4, 12))],
  ['not initialised', lookups, 6014, tableData((data) => data.fill(0, 0, 4))],
  ['of an unknown kind', lookups, 6014, tableData((data) => data.fill(2, 0, 1))],
  ['without its head', lookups, 6014, tableData((data) => data.subarray(0, 40))],
  ['cut within its head', lookups, 6014, tableData((data) => data.subarray(0, 55))],
  ['cut within an entry', lookups, 6014, tableData((data) => Buffer.concat([data, Buffer.alloc(31)]))],
  ['longer by an entry', lookups, 'ok', tableData((data) => Buffer.concat([data, Buffer.alloc(32)]))],
  ['without entries', lookups, 6014, tableData((data) => data.subarray(0, 56))],
  ['an authority tag that is none', lookups, 6014, tableData((data) => data.fill(2, 21, 22))],
  [
    'tables in the other order',
    lookups,
    6014,
    withAccounts((accounts) => {
      const [first, second] = accounts.slice(LISTED, LISTED + 2);
      return first && second ? accounts.toSpliced(LISTED, 2, second, first) : accounts;
    }),
  ],
  [
    'the table twice',
    lookups,
    6014,
    withAccounts((accounts) => accounts.toSpliced(LISTED + 1, 1, accounts[LISTED] ?? extra)),
  ],
];

const changeMessage = (change: (message: Message) => Message) => (fixture: Fixture) =>
  rewrite(fixture, 4, BATCH_TRANSACTION, (transaction) => ({
    ...transaction,
    message: change(transaction.message),
  }));

/** A message that names the first table, uses no entry, and does nothing. */
function takingNothing(fixture: Fixture): void {
  rewrite(fixture, 4, BATCH_TRANSACTION, (transaction) => {
    const { message } = transaction;
    const [first] = message.addressTableLookups;
    const addressTableLookups =
      first === undefined
        ? []
        : [{ ...first, writableIndexes: new Uint8Array(0), readonlyIndexes: new Uint8Array(0) }];
    const statics = LISTED + message.addressTableLookups.length;
    withAccounts((accounts) => [
      ...accounts.slice(0, LISTED + 1),
      ...accounts.slice(statics, statics + message.accountKeys.length),
    ])(fixture);
    return { ...transaction, message: { ...message, addressTableLookups, instructions: [] } };
  });
}

const takingNothingOf = (tableBytes: number) => (fixture: Fixture) => {
  takingNothing(fixture);
  tableData((data) => data.subarray(0, tableBytes))(fixture);
};

const untouchedTables: readonly Row[] = [
  ['a table from which nothing is taken', lookups, 'ok', takingNothing],
  ['an empty table from which nothing is taken', lookups, 'ok', takingNothingOf(56)],
  ['no table, though nothing is taken', lookups, 6014, takingNothingOf(55)],
];

/** A message with the first table only; `given`: the table is among the remaining accounts. */
const nothingButTable = (given: boolean) => (fixture: Fixture) => {
  takingNothing(fixture);
  withAccounts((accounts) => accounts.slice(0, given ? LISTED + 1 : LISTED))(fixture);
  changeMessage((message) => ({
    ...{ ...message, accountKeys: [] },
    ...{ numSigners: 0, numWritableSigners: 0, numWritableNonSigners: 0 },
  }))(fixture);
};

const withoutKeys: readonly Row[] = [
  ['a table and no keys', lookups, 'ok', nothingButTable(true)],
  ['a table and no keys, the table not given', lookups, 6013, nothingButTable(false)],
];

const writesProposal = 'batch-execute-transaction/err-proposal-writable-inside';
/** The token program's InvalidInstruction. */
const TOKEN_INVALID_INSTRUCTION = 12;
const unknownCall = { programIdIndex: 4, accountIndexes: Uint8Array.of(1), data: Uint8Array.of(254) };

const changeCalls = (change: (calls: Message['instructions']) => Message['instructions']) =>
  changeMessage((message) => ({ ...message, instructions: change(message.instructions) }));

/** Writing a protected account fails the message at that instruction, whatever precedes or follows. */
const protection: readonly Row[] = [
  [
    'by an instruction that would fail itself',
    writesProposal,
    6029,
    changeCalls((calls) => calls.map((call) => ({ ...call, data: unknownCall.data }))),
  ],
  [
    'before an instruction that would fail',
    writesProposal,
    6029,
    changeCalls((calls) => [...calls, unknownCall]),
  ],
  [
    'behind an instruction that fails',
    writesProposal,
    TOKEN_INVALID_INSTRUCTION,
    changeCalls((calls) => [unknownCall, ...calls]),
  ],
];

/** Replaces each remaining account, and makes each writable one read-only. */
const replaced = (vector: string): readonly Row[] => {
  const { accounts } = fixtureOf(vector).instruction;
  return accounts.slice(LISTED).flatMap((meta, at) => {
    const index = LISTED + at;
    const another = withAccounts((all) => all.toSpliced(index, 1, { ...meta, address: stranger }));
    const readonly = withAccounts((all) =>
      all.map((other) => (other.address === meta.address ? { ...other, writable: false } : other)),
    );
    const written =
      meta.writable && accounts.slice(0, LISTED).every(({ address }) => address !== meta.address);
    const rows: Row[] = [[`account ${index} is another`, vector, 6014, another]];
    return written ? [...rows, [`account ${index} is readonly`, vector, 6014, readonly]] : rows;
  });
};

export const messageCases = (): readonly Case[] =>
  [
    ...numbers,
    ...tables,
    ...untouchedTables,
    ...withoutKeys,
    ...protection,
    ...replaced(plain),
    ...replaced(lookups),
  ].map(([name, vector, expected, prepare]) => caseOf(vector, name, prepare, expected));
