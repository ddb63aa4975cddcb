/** `flywheel batch reject`: only what nobody has approved, only after a look at it, and only a rejection is signed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type VoteKind, voteMessage } from '../../../../../src/chain/squads/instructions/vote.js';
import { partiallySign } from '../../../../../src/chain/transaction/compile.js';
import { decodeTransaction } from '../../../../../src/chain/transaction/wire.js';
import type { CancelBatchRequest } from '../../../../../src/contract/schemas/batch.js';
import { chainIn, honestWorld, pinsOf, type World } from '../../../../support/approval-world.js';
import { batchIndex, multisig, operator, owner, ownerKeypair } from '../../../../support/batch-on-chain.js';
import { aBatch, complaint, person, refusal, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';
import { unwrapped } from '../../../../support/spawn.js';

const WAITING = aBatch({ batchIndex: String(batchIndex), multisig });
const ID = WAITING.id;
const OVER = { ...WAITING, status: 'FAILED', dateCancelled: '2026-01-31T12:00:09.000Z' } as const;
const QUESTION = `Reject batch ${ID} as ${owner}? It is voted down and closed, and nothing of it will ever be executed. [y/N] `;

const voteOf = (kind: VoteKind): string => {
  const blockhash = namedAddress('blockhash');
  const message = voteMessage({ kind, multisig, batchIndex, member: owner, payer: operator, blockhash });
  return Buffer.from(partiallySign(message, [])).toString('base64');
};

/** The owner before a world; the service wants this vote, or none. */
function cliWith(
  cancelTx: string | null,
  options: TestCliOptions = {},
  change: (world: World) => void = () => {},
) {
  const world = honestWorld('token');
  change(world);
  const service = fakeService();
  service.answer('getBatch', () => reply(WAITING));
  service.answer('cancelBatch', ({ input }) =>
    cancelTx === null || (input as CancelBatchRequest).signedTx !== undefined
      ? reply({ ownerVoteNeeded: false, batch: OVER })
      : reply({ ownerVoteNeeded: true, cancelTx }),
  );
  const opened = { chain: chainIn(world), pins: pinsOf(world), trusted: async () => world.flywheel };
  const cli = testCli({ ...options, service, opened });
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli;
}

const asked = ({ service }: ReturnType<typeof cliWith>): readonly CancelBatchRequest[] =>
  service.calls.flatMap(({ operation, input }) =>
    operation === 'cancelBatch' ? [input as CancelBatchRequest] : [],
  );
const WORDS = ['batch', 'reject', ID, '--keypair', 'owner.json'];

describe('batch reject', () => {
  it('shows what the batch would do, asks once, and signs the rejection', async () => {
    const rejection = voteOf('reject');
    const cli = cliWith(rejection, person('y'));
    const { exit, stdout, stderr, questions } = await cli.run(...WORDS);
    expect([exit, questions]).toEqual([0, [QUESTION]]);
    expect(stderr).toContain('thank you');
    expect(stderr).toMatch(/total burn +12,345,679\.5 tokens/);
    expect(stdout).toContain(`Batch ${ID} is over: nothing more of it can be executed.`);
    const [, { signedTx = '' } = {}] = asked(cli);
    const [given, signed] = [rejection, signedTx].map((text) =>
      decodeTransaction(Buffer.from(text, 'base64')),
    );
    expect(signed?.messageBytes).toEqual(given?.messageBytes);
  });

  it('asks the service for nothing after a no', async () => {
    const cli = cliWith(voteOf('reject'), person('n'));
    const { exit, stdout, stderr } = await cli.run(...WORDS);
    expect([exit, stdout, asked(cli)]).toEqual([130, '', []]);
    expect(unwrapped(stderr)).toContain(`Declined; nothing was signed, and batch ${ID} is as it was.`);
  });

  it('prints the batch as JSON in a script, and needs --yes there', async () => {
    const cli = cliWith(null);
    const silent = await cli.run(...WORDS);
    expect([silent.exit, complaint(silent.stderr).error, asked(cli)]).toEqual([2, 'ERR_USAGE', []]);
    const { exit, stdout, questions } = await cli.run(...WORDS, '--yes');
    expect([exit, stdout, questions]).toEqual([0, `${JSON.stringify(OVER)}\n`, []]);
    expect(asked(cli)).toEqual([{ batchId: ID }]);
  });

  it.each(['approve', 'cancel'] as const)('signs no vote to %s that the service slips in', async (kind) => {
    const cli = cliWith(voteOf(kind));
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--yes');
    expect([exit, stdout, complaint(stderr).error]).toEqual([9, '', 'ERR_APPROVAL_REFUSED']);
    expect(asked(cli)).toEqual([{ batchId: ID }]);
  });

  it('refuses what has been approved, and says how that is ended', async () => {
    const cli = cliWith(voteOf('reject'), {}, (world) => {
      world.state = (state) => {
        state.proposal = { ...state.proposal, status: { kind: 'Approved', timestamp: 1n } };
      };
    });
    const { exit, stderr } = await cli.run(...WORDS, '--yes');
    expect([exit, asked(cli)]).toEqual([9, []]);
    expect(complaint(stderr)).toMatchObject({
      message: `The proposal of batch ${ID} is Approved; only what has not been approved can be rejected.`,
      hint: `To end what has been approved: flywheel batch cancel ${ID}`,
    });
  });

  it('rejects with a warning what could never be approved', async () => {
    const cli = cliWith(null, {}, (world) => {
      world.state = (state) => {
        state.multisig = { ...state.multisig, threshold: 1 };
      };
    });
    const { exit, stderr } = await cli.run(...WORDS, '--yes');
    expect(exit).toBe(0);
    expect(stderr).toContain('The flywheel is not as it was pinned: threshold was 2 and is 1.');
  });

  it.each([4, 1_001])(
    'votes down a batch that says it holds %i transactions, and cannot be read',
    async (size) => {
      const cli = cliWith(voteOf('reject'), {}, (world) => {
        world.state = (state) => {
          state.batch = { ...state.batch, size };
        };
      });
      const { exit, stderr } = await cli.run(...WORDS, '--yes');
      expect([exit, asked(cli).map(({ signedTx }) => signedTx !== undefined)]).toEqual([0, [false, true]]);
      expect(stderr).toMatch(size === 4 ? /does not exist/ : /the limit is 1000/);
      const sly = cliWith(voteOf('approve'), {}, (world) => {
        world.state = (state) => {
          state.batch = { ...state.batch, size };
        };
      });
      expect((await sly.run(...WORDS, '--yes')).exit).toBe(9);
      expect(asked(sly)).toEqual([{ batchId: ID }]);
    },
  );

  it.each([
    [['batch', 'reject', '7'], 'ERR_INPUT_INVALID', 'A batch id is a UUID'],
    [['batch', 'reject'], 'ERR_USAGE', "Missing required argument 'batchId'"],
    [[...WORDS, '--wallet'], 'ERR_USAGE', "Unknown option '--wallet'"],
  ])('refuses %j without asking', async (words, code, message) => {
    const cli = cliWith(null);
    expect(await refusal(cli, ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect(cli.service.calls).toEqual([]);
  });
});
