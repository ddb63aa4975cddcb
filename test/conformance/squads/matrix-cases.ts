/** Every permission mask, proposal status and staleness against each instruction of squads-v4.md. */

import { type Case, caseOf } from './case.js';
import type { Fixture } from './fixture.js';
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

type Row = readonly [
  vector: string,
  /** Position of the member among the accounts, and the bits of which one is required. */
  member: readonly [index: number, bits: number],
  /** Position of the proposal, and the accepted statuses. */
  proposal?: readonly [index: number, passes: readonly Status[]] | undefined,
  /** The result for a stale index; missing if there is no index yet. */
  stale?: number | 'ok',
];

/** Initiate 1, vote 2, execute 4; sections 7.2 to 7.11. */
const ROWS: readonly Row[] = [
  ['batch-create/ok-first-batch', [2, 1]],
  ['vault-transaction-create/ok-memo', [2, 1]],
  ['proposal-create/ok-draft-for-a-batch', [2, 3], undefined, 6007],
  ['batch-add-transaction/ok-second', [4, 1], [1, ['Draft']], 'ok'],
  ['proposal-activate/ok-batch', [1, 1], [2, ['Draft']], 6007],
  ['proposal-vote/approve-ok-below-threshold', [1, 2], [2, ['Active']], 6007],
  ['proposal-vote/reject-ok-below-cutoff', [1, 2], [2, ['Active']], 6007],
  ['proposal-vote/cancel-ok-below-threshold', [1, 2], [2, ['Approved']], 'ok'],
  ['proposal-vote/cancel-v2-ok-below-threshold', [1, 2], [2, ['Approved']], 'ok'],
  ['batch-execute-transaction/ok-burn-checked', [1, 4], [2, ['Approved']], 'ok'],
  ['vault-transaction-execute/ok-burn', [3, 4], [1, ['Approved']], 'ok'],
];

function maskCases([vector, [index, bits]]: Row): readonly Case[] {
  const withMember = (change: (multisig: Multisig, key: string) => Multisig) => (fixture: Fixture) => {
    const { address } = fixture.account(index);
    rewrite(fixture, 0, MULTISIG, (multisig) => change(multisig, address));
  };
  // Other members with all permissions keep the multisig valid, so that only the mask decides.
  const withMask = (mask: number) =>
    withMember((multisig, key) => ({
      ...multisig,
      members: multisig.members.map((other) => ({
        ...other,
        permissions: { mask: other.key.toBase58() === key ? mask : 7 },
      })),
      threshold: 1,
    }));
  const withoutMember = withMember((multisig, key) => ({
    ...multisig,
    members: multisig.members.filter((other) => other.key.toBase58() !== key),
  }));
  return [
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((mask) =>
      caseOf(vector, `member with mask ${mask}`, withMask(mask), ({ end }) =>
        (end === 6004) === ((mask & bits) === 0) ? null : `got ${end}`,
      ),
    ),
    caseOf(vector, 'not a member', withoutMember, 6005),
  ];
}

const withStatus =
  (kind: Status) =>
  (proposal: Proposal): Proposal => {
    const timestamp = 'timestamp' in proposal.status ? proposal.status.timestamp : 0;
    return { ...proposal, status: kind === 'Executing' ? { __kind: kind } : { __kind: kind, timestamp } };
  };

const statusCases = ([vector, , proposal]: Row): readonly Case[] =>
  proposal === undefined
    ? []
    : STATUSES.map((kind) =>
        caseOf(
          vector,
          `proposal ${kind}`,
          (fixture) => rewrite(fixture, proposal[0], PROPOSAL, withStatus(kind)),
          proposal[1].includes(kind) ? 'ok' : 6008,
        ),
      );

const staleTo = (fixture: Fixture): void => {
  const index = Buffer.from(fixture.state(0).data).readBigUInt64LE(TRANSACTION_INDEX_AT);
  setU64(fixture, 0, STALE_INDEX_AT, index);
};

const staleCases = ([vector, , , stale]: Row): readonly Case[] =>
  stale === undefined ? [] : [caseOf(vector, 'stale', staleTo, stale)];

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
      [true, false].map((stale) => {
        const may = CLOSABLE[kind] === 'always' || (CLOSABLE[kind] === 'stale' && stale);
        const prepare = (fixture: Fixture): void => {
          rewrite(fixture, 1, PROPOSAL, withStatus(kind));
          if (stale) staleTo(fixture);
        };
        return caseOf(vector, `proposal ${kind}${stale ? ', stale' : ''}`, prepare, may ? 'ok' : 6008);
      }),
    ),
  );

export const matrixCases = (): readonly Case[] => [
  ...ROWS.flatMap((row) => [...maskCases(row), ...statusCases(row), ...staleCases(row)]),
  ...closeCases(),
];
