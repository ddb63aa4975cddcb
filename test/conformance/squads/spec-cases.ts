/** Cases for sentences of squads-v4.md that no recorded vector covers. */

import { PublicKey } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { type Case, type Check, caseOf } from './case.js';
import { type Fixture, type FixtureEnd, SYSTEM_PROGRAM } from './fixture.js';
import {
  BATCH,
  CREATION_FEE_AT,
  MULTISIG,
  type Multisig,
  rentLamports,
  rewrite,
  STALE_INDEX_AT,
  setU64,
  TRANSACTION_INDEX_AT,
} from './rewrite.js';

const U64_MAX = 2n ** 64n - 1n;
const U32_MAX = 2 ** 32 - 1;

/** Keys that sort before all others. */
const STRANGERS = [2, 3].map((last) => `1111111111111111111111111111111${last}`);

type Row = readonly [
  name: string,
  vector: string,
  prepare: (fixture: Fixture) => void,
  expected: number | string | Check,
];

const BATCH_CREATE = 'batch-create/ok-first-batch';
const BATCH_ADD = 'batch-add-transaction/ok-second';
const BATCH_CLOSE = 'accounts-close/batch-ok-executed';

const panics = ({ end, logs }: FixtureEnd): string | null =>
  end === 'ProgramFailedToComplete' && logs.at(-1)?.endsWith(' failed: SBF program panicked') === true
    ? null
    : `${end}, ${logs.at(-1)}`;

const succeedsLogging =
  (line: string, times = 1) =>
  ({ end, logs }: FixtureEnd): string | null => {
    const count = logs.filter((other) => other === line).length;
    return end === 'ok' && count === times ? null : `${end}, with ${count} times ${JSON.stringify(line)}`;
  };

const changeMultisig = (change: Partial<Multisig>) => (fixture: Fixture) =>
  rewrite(fixture, 0, MULTISIG, (multisig) => ({ ...multisig, ...change }));

const staleIndex = (value: bigint) => (fixture: Fixture) => setU64(fixture, 0, STALE_INDEX_AT, value);

/** Section 5: rules on a multisig, tested on an invalid one. */
const soundness: readonly Row[] = [
  ['stale index above the new index', BATCH_CREATE, staleIndex(2n), 6019],
  ['stale index equal to the new index', BATCH_CREATE, staleIndex(1n), 'ok'],
  [
    'soundness for a vault transaction too',
    'vault-transaction-create/ok-memo',
    changeMultisig({ threshold: 60 }),
    6003,
  ],
  ...[0, 1, 2].map(
    (at): Row => [
      `members ${at} and ${at + 1} are equal`,
      BATCH_CREATE,
      (fixture) => {
        fixture.setState(0, {
          data: Buffer.concat([fixture.state(0).data, new Uint8Array(200)]),
        });
        const keys = [...STRANGERS, fixture.account(2).address];
        const members = keys
          .toSpliced(at, 0, keys[at] ?? SYSTEM_PROGRAM)
          .map((key) => ({ key: new PublicKey(key), permissions: { mask: 7 } }));
        changeMultisig({ threshold: 1, members })(fixture);
      },
      6000,
    ],
  ),
];

function atIndex(fixture: Fixture, index: bigint): void {
  setU64(fixture, 0, TRANSACTION_INDEX_AT, index - 1n);
  const multisigPda = new PublicKey(fixture.account(0).address);
  const [transaction] = squads.getTransactionPda({ multisigPda, index });
  fixture.setAccount(1, { address: transaction.toBase58() });
}

/** Counters at their maximum: the program fails rather than wraps around. */
const counters: readonly Row[] = [
  ['the last index there is', BATCH_CREATE, (fixture) => atIndex(fixture, U64_MAX), 'ok'],
  ['no index left', BATCH_CREATE, (fixture) => setU64(fixture, 0, TRANSACTION_INDEX_AT, U64_MAX), panics],
  [
    'no number left in the batch',
    BATCH_ADD,
    (fixture) => rewrite(fixture, 2, BATCH, (batch) => ({ ...batch, size: U32_MAX })),
    panics,
  ],
  [
    'the last number in the batch',
    BATCH_ADD,
    (fixture) => {
      rewrite(fixture, 2, BATCH, (batch) => {
        const [last] = squads.getBatchTransactionPda({
          multisigPda: batch.multisig,
          batchIndex: BigInt(String(batch.index)),
          transactionIndex: U32_MAX,
        });
        fixture.setAccount(3, { address: last.toBase58() });
        return { ...batch, size: U32_MAX - 1 };
      });
    },
    'ok',
  ],
];

const CREATED = 'Program 11111111111111111111111111111111 invoke [2]';
const prefund = (extra: bigint) => (fixture: Fixture) =>
  fixture.setState(1, { lamports: rentLamports(91) + extra });

/** Section 4, step 4: an address that already has lamports. */
const creation: readonly Row[] = [
  ['one lamport is missing', BATCH_CREATE, prefund(-1n), succeedsLogging(CREATED, 3)],
  ['nothing is missing', BATCH_CREATE, prefund(0n), succeedsLogging(CREATED, 2)],
  ['more than enough is there', BATCH_CREATE, prefund(1n), succeedsLogging(CREATED, 2)],
  ...[999_999_999n, 1_000_000_000n, 2_500_000_000n].map(
    (fee): Row => [
      `a creation fee of ${fee}`,
      'multisig-create-v2/ok-creation-fee-below-one-sol',
      (fixture) => {
        setU64(fixture, 0, CREATION_FEE_AT, fee);
        fixture.setState(4, { lamports: 100_000_000_000n });
      },
      succeedsLogging(`Program log: Creation fee: ${fee / 1_000_000_000n}`),
    ],
  ),
];

const enlargement = (lamports: (needed: bigint) => bigint, shorter: number) => (fixture: Fixture) => {
  const members = 3;
  const { data } = fixture.state(2);
  const full = 70 + 96 * members;
  const resized = new Uint8Array(full - shorter);
  resized.set(data.subarray(0, Math.min(data.length, resized.length)));
  resized.fill(0xee, resized.length - 5);
  fixture.setState(2, { data: resized, lamports: lamports(rentLamports(full)) });
};

function enlarged(times: number): Check {
  return ({ end, logs, get }, fixture) => {
    const state = get(fixture.account(2).address);
    const calls = logs.filter((line) => line === CREATED).length;
    const tail = Buffer.from(state?.data ?? []).includes(Buffer.alloc(5, 0xee));
    const right = end === 'ok' && calls === times && state?.data.length === 70 + 96 * 3 && tail;
    return right ? null : `${end}, ${calls} calls, ${state?.data.length} bytes, tail ${tail}`;
  };
}

const V2 = 'proposal-vote/cancel-v2-ok-below-threshold';

/** Sections 7.6 to 7.9: votes. */
const votes: readonly Row[] = [
  ['the account grows, the rent is missing', V2, enlargement((needed) => needed - 1n, 96), enlarged(1)],
  ['the account grows, the rent is there', V2, enlargement((needed) => needed, 96), enlarged(0)],
  [
    'the account grows, more than the rent is there',
    V2,
    enlargement((needed) => needed + 1n, 96),
    enlarged(0),
  ],
  ['the account is as long as it has to be', V2, enlargement((needed) => needed - 1n, 0), enlarged(0)],
  [
    'a threshold above the number of voters',
    'proposal-vote/reject-ok-below-cutoff',
    changeMultisig({ threshold: 9 }),
    panics,
  ],
];

/** Sections 7.12 and 7.13: closing. */
const closing: readonly Row[] = [
  ...(
    [
      ['shorter than a type mark', 7, 3001],
      ['nothing but a type mark', 8, 3003],
    ] as const
  ).map(
    ([what, length, expected]): Row => [
      `proposal ${what}`,
      BATCH_CLOSE,
      (fixture) => fixture.setState(1, { data: fixture.state(1).data.subarray(0, length) }),
      expected,
    ],
  ),
  [
    'proposal of another type',
    BATCH_CLOSE,
    (fixture) => fixture.setState(1, { data: fixture.state(0).data }),
    3002,
  ],
  [
    'a proposal address that only holds lamports is left alone',
    'accounts-close/batch-ok-stale-without-proposal',
    (fixture) =>
      fixture.setState(1, { lamports: 5_000_000n, owner: SYSTEM_PROGRAM, data: new Uint8Array(0) }),
    ({ end, get }, fixture) => {
      const left = get(fixture.account(1).address)?.lamports;
      return end === 'ok' && left === 5_000_000n ? null : `${end}, ${left} lamports left`;
    },
  ],
  ...(
    [
      ['batch-ok-executed', 1, 'UnbalancedInstruction'],
      ['batch-ok-executed', 2, 2011],
      ['vault-transaction-ok-executed', 2, 2011],
      ['batch-transaction-ok-last-of-an-executed-batch', 3, 2011],
    ] as const
  ).map(
    ([vector, index, expected]): Row => [
      `account ${index} is its own collector`,
      `accounts-close/${vector}`,
      (fixture) => {
        const { address } = fixture.account(index);
        const position = vector.startsWith('batch-transaction') ? 4 : 3;
        rewrite(fixture, 0, MULTISIG, (multisig) => ({ ...multisig, rentCollector: new PublicKey(address) }));
        fixture.setAccount(position, { address });
      },
      expected,
    ],
  ),
];

const logsLine =
  (line: RegExp) =>
  ({ logs: lines }: FixtureEnd): string | null =>
    lines.some((one) => line.test(one)) ? null : lines.join('\n');

/** Log lines of a failure (section 9). */
const logs: readonly Row[] = [
  [
    'an account at fault is named',
    BATCH_CLOSE,
    (fixture) => fixture.setAccount(3, { writable: false }),
    logsLine(
      /^Program log: AnchorError caused by account: rent_collector\. Error Code: ConstraintMut\. Error Number: 2000\./,
    ),
  ],
  [
    'a failed check is named',
    BATCH_CREATE,
    staleIndex(2n),
    logsLine(/^Program log: AnchorError .*Error Code: InvalidStaleTransactionIndex\. Error Number: 6019\./),
  ],
];

/** Signatures come from the stored bumps (sections 1 and 8). */
const storedBump: readonly Row[] = [
  [
    'a vault transaction with another stored bump of its vault',
    'batch-execute-transaction/ok-burn-checked',
    (fixture) => rewrite(fixture, 3, BATCH, (batch) => ({ ...batch, vaultBump: batch.vaultBump ^ 1 })),
    ({ end }) => (end === 'ok' ? 'a vault signed with a wrong bump' : null),
  ],
];

export const specCases = (): readonly Case[] =>
  [...soundness, ...counters, ...creation, ...votes, ...closing, ...logs, ...storedBump].map(
    ([name, vector, prepare, expected]) => caseOf(vector, name, prepare, expected),
  );
