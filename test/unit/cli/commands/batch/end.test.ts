/** `flywheel batch cancel`: calls to the service, and the single vote that the owner signs after a yes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VOTES, type VoteKind } from '../../../../../src/chain/squads/builders.js';
import { compileV0Message } from '../../../../../src/chain/transaction/wire.js';
import type { CancelBatchRequest } from '../../../../../src/contract/schemas/batch.js';
import { batchIndex, multisig, operator, owner, ownerKeypair } from '../../../../support/batch-on-chain.js';
import { aBatch, person, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';
import { partiallySign } from '../../../../support/sign.js';
import { chainIn, honestWorld, pinsOf, type World } from '../../approval-world.js';

const WAITING = aBatch({ batchIndex: String(batchIndex), multisig });
const ID = WAITING.id;
const OVER = { ...WAITING, status: 'FAILED', dateCancelled: '2026-01-31T12:00:09.000Z' } as const;

const voteOf = (kind: VoteKind): string => {
  const instructions = [VOTES[kind].build({ multisig, batchIndex, member: owner })];
  const message = compileV0Message({ payer: operator, blockhash: namedAddress('blockhash'), instructions });
  return Buffer.from(partiallySign(message, [])).toString('base64');
};

/** The owner in a world, which is read only with a chain; the service requests this vote, or none. */
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
const asked = ({ service }: TestCli): readonly CancelBatchRequest[] =>
  service.calls.flatMap(({ operation, input }) =>
    operation === 'cancelBatch' ? [input as CancelBatchRequest] : [],
  );
const WORDS = ['batch', 'cancel', ID, '--keypair', 'owner.json'];

describe.each([
  ['cancel', 'Approved'],
  ['reject', 'Active'],
] as const)('batch cancel, for which a vote to %s is needed', (vote, kind) => {
  it('signs nothing after a no, nor where no chain can be read', async () => {
    const change = (world: World): void => {
      world.state = (state) => {
        state.proposal = { ...state.proposal, status: { kind, timestamp: 1n } };
      };
    };
    const declined = cliWith(voteOf(vote), person('n'), { change });
    const { exit, questions } = await declined.run(...WORDS);
    expect([exit, questions]).toEqual([130, [expect.stringContaining(ID)]]);
    const blind = cliWith(voteOf(vote), {}, { isBlind: true });
    const answer = await refusal(blind, ...WORDS, '--yes');
    expect(answer.slice(0, 2)).toEqual([9, 'ERR_APPROVAL_REFUSED']);
    for (const cli of [declined, blind])
      expect(asked(cli).filter(({ signedTx }) => signedTx !== undefined)).toEqual([]);
  });
});

describe('batch cancel', () => {
  it('needs no keypair where no vote is needed, and takes an id in capitals', async () => {
    const cli = cliWith(null);
    const { exit, stdout, questions } = await cli.run('batch', 'cancel', ID.toUpperCase(), '--yes');
    expect([exit, JSON.parse(stdout), questions]).toEqual([0, OVER, []]);
    expect(asked(cli)).toEqual([{ batchId: ID }]);
  });

  it.each([
    ['ERR_BATCH_NOT_FOUND', 5],
    ['ERR_BATCH_IN_PROGRESS', 6],
  ] as const)('exits for %s with %i', async (code, exit) => {
    const cli = cliWith(null);
    cli.service.answer('cancelBatch', () => refuse(code, 'It did not work.'));
    expect(await refusal(cli, ...WORDS, '--yes')).toEqual([exit, code, 'It did not work.']);
  });
});

describe('batch cancel of what waits', () => {
  it('warns of what could never be approved, and votes it down', async () => {
    const change = (world: World): void => {
      world.state = (state) => {
        state.multisig = { ...state.multisig, threshold: 1 };
      };
    };
    const { exit, stderr } = await cliWith(null, {}, { change }).run(...WORDS, '--yes');
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
      expect((await cli.run(...WORDS, '--yes')).exit).toBe(0);
      expect(asked(cli).map(({ signedTx }) => signedTx !== undefined)).toEqual([false, true]);
      const sly = cliWith(voteOf('approve'), {}, { change });
      expect((await sly.run(...WORDS, '--yes')).exit).toBe(9);
      expect(asked(sly)).toEqual([{ batchId: ID }]);
    },
  );
});
