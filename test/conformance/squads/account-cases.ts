/** Each account of each instruction made invalid in every relevant way, after the tables of squads-v4.md, section 7. */

import { type Case, caseOf } from './case.js';
import {
  addressNamed,
  type Fixture,
  type Meta,
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
} from './fixture.js';
import {
  BATCH,
  BATCH_TRANSACTION,
  isOfKind,
  type Kind,
  MULTISIG,
  PROPOSAL,
  rewrite,
  VAULT_TRANSACTION,
} from './rewrite.js';
import type { Account } from './vector.js';

/**
 * Accounts of each instruction in a recorded success: name, kind, then flags: `w` must be writable, `a` address derived with the
 * stored bump, `c` with the canonical bump, `p` pays the rent. Read-only new accounts and rent payers fail in the system call,
 * not by a constraint.
 */
const TABLES: Readonly<Record<string, string>> = {
  'multisig-create-v2/ok-2-of-2-members-get-sorted':
    'programConfig:state+c treasury:raw+w multisig:new createKey:signer creator:signer+p systemProgram:system',
  'batch-create/ok-first-batch':
    'multisig:state+wa batch:new creator:signer rentPayer:signer+p systemProgram:system',
  'proposal-create/ok-draft-for-a-batch':
    'multisig:state+a proposal:new creator:signer rentPayer:signer+p systemProgram:system',
  'batch-add-transaction/ok-second':
    'multisig:state+a proposal:state+a batch:state+wa transaction:new member:signer rentPayer:signer+p systemProgram:system',
  'proposal-activate/ok-batch': 'multisig:state+a member:signer+w proposal:state+wa',
  'proposal-vote/approve-ok-below-threshold': 'multisig:state+a member:signer+w proposal:state+wa',
  'proposal-vote/reject-ok-below-cutoff': 'multisig:state+a member:signer+w proposal:state+wa',
  'proposal-vote/cancel-ok-below-threshold': 'multisig:state+a member:signer+w proposal:state+wa',
  'proposal-vote/cancel-v2-ok-below-threshold':
    'multisig:state+a member:signer+w proposal:state+wa systemProgram:system',
  'batch-execute-transaction/ok-burn-checked':
    'multisig:state+a member:signer proposal:state+wa batch:state+wa transaction:state+a',
  'vault-transaction-create/ok-memo':
    'multisig:state+wa transaction:new creator:signer rentPayer:signer+p systemProgram:system',
  'vault-transaction-execute/ok-burn': 'multisig:state+a proposal:state+wa transaction:state+a member:signer',
  'accounts-close/batch-transaction-ok-last-of-an-executed-batch':
    'multisig:state+a proposal:state batch:state+w transaction:state+w rentCollector:raw+w systemProgram:system',
  'accounts-close/batch-ok-executed':
    'multisig:state+a proposal:raw+wc batch:state+w rentCollector:raw+w systemProgram:system',
  'accounts-close/vault-transaction-ok-executed':
    'multisig:state+a proposal:raw+wc transaction:state+w rentCollector:raw+w systemProgram:system',
};

const elsewhere = addressNamed('elsewhere');
const CLOCK_SYSVAR = 'SysvarC1ock11111111111111111111111111111111';
const PLENTY_LAMPORTS = 1_000_000_000n;

/** Positions of the changed account and of the account that the instruction creates. */
interface Place {
  readonly index: number;
  readonly created: number;
}

type Change = readonly [
  what: string,
  expected: number | string,
  make: (fixture: Fixture, place: Place) => unknown,
];

const accountIs =
  (change: Partial<Meta>) =>
  (fixture: Fixture, { index }: Place): void =>
    fixture.setAccount(index, change);
const stateIs =
  (change: Partial<Account>) =>
  (fixture: Fixture, { index }: Place): void =>
    fixture.setState(index, change);
const readonlyAccount = accountIs({ writable: false });

function toFundedWallet(fixture: Fixture, { index }: Place): void {
  const wallet = { ...fixture.state(index), data: new Uint8Array(0), owner: SYSTEM_PROGRAM };
  fixture.accounts.set(elsewhere, wallet);
  fixture.setAccount(index, { address: elsewhere });
}

function toCopyElsewhere(fixture: Fixture, { index }: Place): void {
  fixture.accounts.set(elsewhere, fixture.state(index));
  fixture.setAccount(index, { address: elsewhere });
}

const WITH_BUMP = [
  MULTISIG,
  PROPOSAL,
  BATCH,
  BATCH_TRANSACTION,
  VAULT_TRANSACTION,
] as unknown as readonly Kind<{ readonly bump: number }>[];

function withAnotherBump(fixture: Fixture, { index }: Place): void {
  const kind = WITH_BUMP.find((one) => isOfKind(one, fixture.state(index).data));
  if (kind !== undefined) rewrite(fixture, index, kind, (value) => ({ ...value, bump: value.bump ^ 1 }));
}

const dataIs =
  (change: (data: Buffer) => Uint8Array) =>
  (fixture: Fixture, { index }: Place): void =>
    fixture.setState(index, { data: change(Buffer.from(fixture.state(index).data)) });

const cutBefore = (fixture: Fixture, { index }: Place): void => {
  fixture.instruction = { ...fixture.instruction, accounts: fixture.instruction.accounts.slice(0, index) };
};

const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  any: [['missing', 3005, cutBefore]],
  state: [
    ['not there', 3012, (fixture, { index }) => fixture.accounts.set(fixture.account(index).address, null)],
    ['a funded wallet', 3007, toFundedWallet],
    ...[SYSTEM_PROGRAM, TOKEN_PROGRAM, CLOCK_SYSVAR].map(
      (address): Change => [`${address}, which is there without the ledger`, 3007, accountIs({ address })],
    ),
    ['of another program', 3007, stateIs({ owner: TOKEN_PROGRAM })],
    ['shorter than a type mark', 3001, dataIs((data) => data.subarray(0, 7))],
    ['nothing but a type mark', 3003, dataIs((data) => data.subarray(0, 8))],
    ['of another type', 3002, dataIs((data) => data.fill((data[7] ?? 0) ^ 1, 7, 8))],
    ['cut short', 3003, dataIs((data) => data.subarray(0, 20))],
  ],
  signer: [['not signing', 3010, accountIs({ signer: false })]],
  system: [['another program', 3008, accountIs({ address: TOKEN_PROGRAM })]],
  new: [
    ['at another address', 2006, accountIs({ address: elsewhere })],
    ['readonly', 'PrivilegeEscalation', readonlyAccount],
    ['in use', 0, stateIs({ lamports: PLENTY_LAMPORTS, owner: SQUADS_PROGRAM, data: new Uint8Array(9) })],
  ],
  raw: [],
  w: [['readonly', 2000, readonlyAccount]],
  a: [
    ['with another bump', 2006, withAnotherBump],
    ['a copy elsewhere', 2006, toCopyElsewhere],
  ],
  c: [['a copy elsewhere', 2006, toCopyElsewhere]],
  p: [
    ['readonly', 'PrivilegeEscalation', readonlyAccount],
    [
      'readonly where nothing is to pay',
      2000,
      (fixture, place) => {
        fixture.setState(place.created, { lamports: PLENTY_LAMPORTS });
        readonlyAccount(fixture, place);
      },
    ],
  ],
};

function casesOf(vector: string, table: string): readonly Case[] {
  const accounts = table.split(' ').map((entry) => {
    const [name, kind, marks] = entry.split(/[:+]/);
    return { name, keys: ['any', kind ?? '', ...(marks ?? '')] };
  });
  const created = accounts.findIndex(({ keys }) => keys.includes('new'));
  return accounts.flatMap(({ name, keys }, index) =>
    keys
      .flatMap((key) => CHANGES[key] ?? [])
      .map(([what, expected, make]) =>
        caseOf(vector, `${name} ${what}`, (fixture) => make(fixture, { index, created }), expected),
      ),
  );
}

/** Every account of every instruction, invalid in every way of its kind and rules. */
export const accountCases = (): readonly Case[] =>
  Object.entries(TABLES).flatMap(([vector, table]) => casesOf(vector, table));
