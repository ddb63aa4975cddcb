/** Every permission mask, proposal status and staleness against each instruction of squads-v4.md. */

import type { Case } from './account-cases.js';
import { type Fixture, fixtureOf } from './fixture.js';
import {
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  rewrite,
  STALE_INDEX_AT,
  setU64,
  TRANSACTION_INDEX_AT,
} from './rewrite.js';

const STATUSES = ['Draft', 'Active', 'Rejected', 'Approved', 'Executing', 'Executed', 'Cancelled'] as const;
type Status = (typeof STATUSES)[number];

const expectEnd = (fixture: Fixture, expected: number | string): string | null => {
  const { end } = fixture.run();
  return end === expected ? null : `expected ${expected}, got ${end}`;
};

interface Row {
  readonly vector: string;
  /** Position of the member among the accounts, and the bits of which one is required. */
  readonly member?: readonly [index: number, bits: number];
  /** Position of the proposal, and the accepted statuses. */
  readonly proposal?: readonly [index: number, passes: readonly Status[]];
  /** The result for a stale index; missing if there is no index yet. */
  readonly stale?: number | 'ok';
}

/** Initiate 1, vote 2, execute 4; sections 7.2 to 7.11. */
const ROWS: readonly Row[] = [
  { vector: 'batch-create/ok-first-batch', member: [2, 1] },
  { vector: 'vault-transaction-create/ok-memo', member: [2, 1] },
  { vector: 'proposal-create/ok-draft-for-a-batch', member: [2, 3], stale: 6007 },
  { vector: 'batch-add-transaction/ok-second', member: [4, 1], proposal: [1, ['Draft']], stale: 'ok' },
  { vector: 'proposal-activate/ok-batch', member: [1, 1], proposal: [2, ['Draft']], stale: 6007 },
  {
    vector: 'proposal-vote/approve-ok-below-threshold',
    member: [1, 2],
    proposal: [2, ['Active']],
    stale: 6007,
  },
  { vector: 'proposal-vote/reject-ok-below-cutoff', member: [1, 2], proposal: [2, ['Active']], stale: 6007 },
  {
    vector: 'proposal-vote/cancel-ok-below-threshold',
    member: [1, 2],
    proposal: [2, ['Approved']],
    stale: 'ok',
  },
  {
    vector: 'proposal-vote/cancel-v2-ok-below-threshold',
    member: [1, 2],
    proposal: [2, ['Approved']],
    stale: 'ok',
  },
  {
    vector: 'batch-execute-transaction/ok-burn-checked',
    member: [1, 4],
    proposal: [2, ['Approved']],
    stale: 'ok',
  },
  { vector: 'vault-transaction-execute/ok-burn', member: [3, 4], proposal: [1, ['Approved']], stale: 'ok' },
];

function maskCases({ vector, member }: Row): readonly Case[] {
  if (member === undefined) return [];
  const [index, bits] = member;
  const withMember = (change: (multisig: Multisig, key: string) => Multisig): Fixture => {
    const fixture = fixtureOf(vector);
    const { address } = fixture.account(index);
    rewrite(fixture, 0, MULTISIG, (multisig) => change(multisig, address));
    return fixture;
  };
  const masks = [0, 1, 2, 3, 4, 5, 6, 7].map((mask) => ({
    name: `${vector}: member with mask ${mask}`,
    check: () => {
      const fixture = withMember((multisig, key) => ({
        ...multisig,
        // Other members with all permissions keep the multisig valid, so that only the mask decides.
        members: multisig.members.map((other) => ({
          ...other,
          permissions: { mask: other.key.toBase58() === key ? mask : 7 },
        })),
        threshold: 1,
      }));
      const { end } = fixture.run();
      const refused = end === 6004;
      return refused === ((mask & bits) === 0) ? null : `got ${end}`;
    },
  }));
  const stranger = {
    name: `${vector}: not a member`,
    check: () =>
      expectEnd(
        withMember((multisig, key) => ({
          ...multisig,
          members: multisig.members.filter((other) => other.key.toBase58() !== key),
        })),
        6005,
      ),
  };
  return [...masks, stranger];
}

const withStatus =
  (kind: Status) =>
  (proposal: Proposal): Proposal => {
    const timestamp = 'timestamp' in proposal.status ? proposal.status.timestamp : 0;
    return { ...proposal, status: kind === 'Executing' ? { __kind: kind } : { __kind: kind, timestamp } };
  };

const statusCases = ({ vector, proposal }: Row): readonly Case[] =>
  proposal === undefined
    ? []
    : STATUSES.map((kind) => ({
        name: `${vector}: proposal ${kind}`,
        check: () => {
          const fixture = fixtureOf(vector);
          rewrite(fixture, proposal[0], PROPOSAL, withStatus(kind));
          return expectEnd(fixture, proposal[1].includes(kind) ? 'ok' : 6008);
        },
      }));

const staleTo = (fixture: Fixture): void => {
  const index = Buffer.from(fixture.state(0).data).readBigUInt64LE(TRANSACTION_INDEX_AT);
  setU64(fixture, 0, STALE_INDEX_AT, index);
};

const staleCases = ({ vector, stale }: Row): readonly Case[] =>
  stale === undefined
    ? []
    : [
        {
          name: `${vector}: stale`,
          check: () => {
            const fixture = fixtureOf(vector);
            staleTo(fixture);
            return expectEnd(fixture, stale);
          },
        },
      ];

/** Section 7.12: closable statuses. */
const CLOSABLE: Readonly<Record<Status, 'always' | 'stale' | 'never'>> = {
  Draft: 'stale',
  Active: 'stale',
  Rejected: 'always',
  Approved: 'never',
  Executing: 'never',
  Executed: 'always',
  Cancelled: 'always',
};

const CLOSING: readonly string[] = [
  'accounts-close/batch-transaction-ok-last-of-an-executed-batch',
  'accounts-close/batch-ok-executed',
  'accounts-close/vault-transaction-ok-executed',
];

const closeCases = (): readonly Case[] =>
  CLOSING.flatMap((vector) =>
    STATUSES.flatMap((kind) =>
      [true, false].map((stale) => ({
        name: `${vector}: proposal ${kind}${stale ? ', stale' : ''}`,
        check: () => {
          const fixture = fixtureOf(vector);
          rewrite(fixture, 1, PROPOSAL, withStatus(kind));
          if (stale) staleTo(fixture);
          const may = CLOSABLE[kind] === 'always' || (CLOSABLE[kind] === 'stale' && stale);
          return expectEnd(fixture, may ? 'ok' : 6008);
        },
      })),
    ),
  );

export const matrixCases = (): readonly Case[] => [
  ...ROWS.flatMap((row) => [...maskCases(row), ...statusCases(row), ...staleCases(row)]),
  ...closeCases(),
];
