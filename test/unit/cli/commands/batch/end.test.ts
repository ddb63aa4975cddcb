/** `flywheel batch cancel` and `batch reject`: what is asked of the service, and the one vote that the owner signs after a yes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type VoteKind, voteMessage } from '../../../../../src/chain/squads/instructions/vote.js';
import { partiallySign } from '../../../../../src/chain/transaction/compile.js';
import { decodeTransaction } from '../../../../../src/chain/transaction/wire.js';
import type { CancelBatchRequest } from '../../../../../src/contract/schemas/batch.js';
import { chainIn, honestWorld, pinsOf, type World } from '../../../../support/approval-world.js';
import { batchIndex, multisig, operator, owner, ownerKeypair } from '../../../../support/batch-on-chain.js';
import { aBatch, complaint, person, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const WAITING = aBatch({ batchIndex: String(batchIndex), multisig });
const ID = WAITING.id;
const OVER = { ...WAITING, status: 'FAILED', dateCancelled: '2026-01-31T12:00:09.000Z' } as const;

const voteOf = (kind: VoteKind, index = batchIndex): string => {
  const terms = { multisig, batchIndex: index, member: owner, payer: operator };
  const message = voteMessage({ kind, ...terms, blockhash: namedAddress('blockhash') });
  return Buffer.from(partiallySign(message, [])).toString('base64');
};

/** The owner before a world, which is not read without a chain; the service wants this vote, or none. */
function cliWith(
  cancelTx: string | null,
  options: TestCliOptions = {},
  { change = () => undefined, isBlind = false }: { change?: (world: World) => void; isBlind?: boolean } = {},
): TestCli {
  const world = honestWorld('token');
  change(world);
  const service = fakeService();
  service.answer('getBatch', () => reply(WAITING));
  service.answer('cancelBatch', ({ input }) =>
    cancelTx === null || (input as CancelBatchRequest).signedTx !== undefined
      ? reply({ ownerVoteNeeded: false, batch: OVER })
      : reply({ ownerVoteNeeded: true, cancelTx }),
  );
  const chain = isBlind ? null : chainIn(world);
  const opened = { chain, pins: pinsOf(world), trusted: async () => world.flywheel };
  const cli = testCli({ ...options, service, opened });
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli;
}
const status =
  (kind: 'Active' | 'Approved') =>
  (world: World): void => {
    world.state = (state) => {
      state.proposal = { ...state.proposal, status: { kind, timestamp: 1n } };
    };
  };

const asked = ({ service }: TestCli): readonly CancelBatchRequest[] =>
  service.calls.flatMap(({ operation, input }) =>
    operation === 'cancelBatch' ? [input as CancelBatchRequest] : [],
  );
const words = (verb: string): string[] => ['batch', verb, ID, '--keypair', 'owner.json'];

describe.each([
  ['cancel', 'cancel', { change: status('Approved') }],
  ['reject', 'reject', { change: status('Active') }],
] as const)('batch %s', (verb, kind, world) => {
  it('asks once before it signs the vote, and sends that vote and no other', async () => {
    const given = voteOf(kind);
    const cli = cliWith(given, person('y'), world);
    const { exit, stdout, questions } = await cli.run(...words(verb));
    expect([exit, questions]).toEqual([0, [expect.stringContaining(ID)]]);
    expect(questions[0]).toContain(owner);
    expect(stdout).toContain(ID);
    const [before, after] = [given, asked(cli)[1]?.signedTx ?? ''].map((text) =>
      decodeTransaction(Buffer.from(text, 'base64')),
    );
    expect(after?.messageBytes).toEqual(before?.messageBytes);
    expect(after?.signatures).not.toEqual(before?.signatures);
    expect(await cli.pending()).toEqual([]);
  });

  it('signs nothing after a no', async () => {
    const cli = cliWith(voteOf(kind), person('n'), world);
    const { exit, stdout } = await cli.run(...words(verb));
    expect([exit, stdout]).toEqual([130, '']);
    expect(asked(cli).filter(({ signedTx }) => signedTx !== undefined)).toEqual([]);
  });

  it.each([
    ['an approval', voteOf('approve')],
    ['another kind of vote', voteOf(kind === 'cancel' ? 'reject' : 'cancel')],
    ['a vote on another batch', voteOf(kind, batchIndex + 1n)],
  ])('never signs %s', async (_what, cancelTx) => {
    const cli = cliWith(cancelTx, {}, world);
    const [exit, code] = await refusal(cli, ...words(verb), '--yes');
    expect([exit, code, asked(cli)]).toEqual([9, 'ERR_APPROVAL_REFUSED', [{ batchId: ID }]]);
  });

  it('signs nothing where no chain can be read', async () => {
    const cli = cliWith(voteOf(kind), {}, { isBlind: true });
    const [exit, code] = await refusal(cli, ...words(verb), '--yes');
    expect([exit, code]).toEqual([9, 'ERR_APPROVAL_REFUSED']);
    expect(asked(cli).filter(({ signedTx }) => signedTx !== undefined)).toEqual([]);
  });

  it('prints the batch where no vote is needed, and the same when it is run again', async () => {
    const cli = cliWith(null, {}, world);
    const first = await cli.run(...words(verb), '--yes');
    expect([first.exit, JSON.parse(first.stdout)]).toEqual([0, OVER]);
    const again = await cli.run(...words(verb), '--yes');
    expect([again.exit, again.stdout, asked(cli)]).toEqual([0, first.stdout, [{ batchId: ID }]]);
  });
});

describe('batch cancel', () => {
  it('needs no keypair where no vote is needed, and takes an id in capitals', async () => {
    const cli = cliWith(null);
    const { exit, stdout, questions } = await cli.run('batch', 'cancel', ID.toUpperCase());
    expect([exit, JSON.parse(stdout), questions]).toEqual([0, OVER, []]);
    expect(asked(cli)).toEqual([{ batchId: ID }]);
  });

  it.each([
    ['ERR_BATCH_NOT_FOUND', 5],
    ['ERR_BATCH_IN_PROGRESS', 6],
  ] as const)('exits for %s with %i', async (code, exit) => {
    const cli = cliWith(null);
    cli.service.answer('cancelBatch', () => refuse(code, 'It did not work.'));
    expect(await refusal(cli, ...words('cancel'))).toEqual([exit, code, 'It did not work.']);
  });
});

describe('batch reject', () => {
  it('needs --yes in a script', async () => {
    const cli = cliWith(null);
    expect((await refusal(cli, ...words('reject'))).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    expect(asked(cli)).toEqual([]);
  });

  it('refuses what has been approved, and says how that is ended', async () => {
    const cli = cliWith(voteOf('reject'), {}, { change: status('Approved') });
    const { exit, stderr } = await cli.run(...words('reject'), '--yes');
    expect([exit, asked(cli)]).toEqual([9, []]);
    expect(complaint(stderr).hint).toContain(`flywheel batch cancel ${ID}`);
  });

  it('rejects with a warning what could never be approved', async () => {
    const cli = cliWith(
      null,
      {},
      {
        change: (world) => {
          world.state = (state) => {
            state.multisig = { ...state.multisig, threshold: 1 };
          };
        },
      },
    );
    const { exit, stderr } = await cli.run(...words('reject'), '--yes');
    expect([exit, stderr]).toEqual([0, expect.stringMatching(/threshold was 2 and is 1/)]);
  });

  it.each([4, 1_001])(
    'votes down a batch that says it holds %i transactions, and cannot be read',
    async (size) => {
      const change = (world: World): void => {
        world.state = (state) => {
          state.batch = { ...state.batch, size };
        };
      };
      const cli = cliWith(voteOf('reject'), {}, { change });
      expect((await cli.run(...words('reject'), '--yes')).exit).toBe(0);
      expect(asked(cli).map(({ signedTx }) => signedTx !== undefined)).toEqual([false, true]);
      const sly = cliWith(voteOf('approve'), {}, { change });
      expect((await sly.run(...words('reject'), '--yes')).exit).toBe(9);
      expect(asked(sly)).toEqual([{ batchId: ID }]);
    },
  );
});
