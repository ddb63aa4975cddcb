/** `flywheel batch cancel`: what is asked of the service, and the one vote that the owner signs after a yes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pins } from '../../../../../src/approval/pins.js';
import { type VoteKind, voteMessage } from '../../../../../src/chain/squads/instructions/vote.js';
import { partiallySign } from '../../../../../src/chain/transaction/compile.js';
import { decodeTransaction } from '../../../../../src/chain/transaction/wire.js';
import type { CancelBatchRequest } from '../../../../../src/contract/schemas/batch.js';
import {
  batchIndex,
  flywheel,
  multisig,
  operator,
  owner,
  ownerKeypair,
} from '../../../../support/batch-on-chain.js';
import { aBatch, complaint, person, READER, refusal, refuse, reply } from '../../../../support/commands.js';
import { fakeService } from '../../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';
import { unwrapped } from '../../../../support/spawn.js';

const WAITING = aBatch({ batchIndex: String(batchIndex), multisig });
const ID = WAITING.id;
const OVER = {
  ...WAITING,
  ...{ status: 'FAILED', dateCancelled: '2026-01-31T12:00:09.000Z' },
} as const;
const pins: Pins = { multisig, owner, operator, vaultIndex: 0, mint: flywheel.mint, facts: null };

const voteOf = (kind: VoteKind, index = batchIndex): string => {
  const blockhash = namedAddress('blockhash');
  const message = voteMessage({
    kind,
    multisig,
    batchIndex: index,
    member: owner,
    payer: operator,
    blockhash,
  });
  return Buffer.from(partiallySign(message, [])).toString('base64');
};

/** A command line with the owner's keypair; the service wants this vote of the owner, or none. */
function cliWith(cancelTx: string | null, options: TestCliOptions = {}) {
  const service = fakeService();
  service.answer('getBatch', () => reply(WAITING));
  service.answer('cancelBatch', ({ input }) =>
    cancelTx === null || (input as CancelBatchRequest).signedTx !== undefined
      ? reply({ ownerVoteNeeded: false, batch: OVER })
      : reply({ ownerVoteNeeded: true, cancelTx }),
  );
  const cli = testCli({ ...options, service, opened: { pins } });
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli;
}

const asked = ({ service }: ReturnType<typeof cliWith>): readonly CancelBatchRequest[] =>
  service.calls.flatMap(({ operation, input }) =>
    operation === 'cancelBatch' ? [input as CancelBatchRequest] : [],
  );
const WORDS = ['batch', 'cancel', ID, '--keypair', 'owner.json'];

describe('batch cancel', () => {
  it('signs nothing where the service needs no vote, and needs no keypair for that', async () => {
    const cli = cliWith(null);
    const { exit, stdout, stderr, questions } = await cli.run('batch', 'cancel', ID.toUpperCase());
    expect([exit, stdout, stderr, questions]).toEqual([0, `${JSON.stringify(OVER)}\n`, '', []]);
    expect(asked(cli)).toEqual([{ batchId: ID }]);
    expect(await cli.pending()).toEqual([]);
  });

  it('asks before it signs the vote, and sends that vote and no other', async () => {
    const cancelTx = voteOf('cancel');
    const cli = cliWith(cancelTx, person('y'));
    const { exit, stdout, questions } = await cli.run(...WORDS, '--allow-unverified');
    expect([exit, stdout.split('\n')[0]]).toEqual([
      0,
      `Batch ${ID} is over: nothing more of it can be executed.`,
    ]);
    expect(questions).toEqual([
      `Sign the cancellation of batch ${ID} as ${owner}? What it has not done, it never will. [y/N] `,
    ]);
    const [, { signedTx = '' } = {}] = asked(cli);
    const [given, signed] = [cancelTx, signedTx].map((text) =>
      decodeTransaction(Buffer.from(text, 'base64')),
    );
    expect(signed?.messageBytes).toEqual(given?.messageBytes);
    expect(signed?.signatures).not.toEqual(given?.signatures);
  });

  it('signs nothing after a no', async () => {
    const cli = cliWith(voteOf('cancel'), person('n'));
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--allow-unverified');
    expect([exit, stdout]).toEqual([130, '']);
    expect(unwrapped(stderr)).toContain(`Declined; nothing was signed, and batch ${ID} is as it was.`);
    expect(asked(cli)).toEqual([{ batchId: ID }]);
  });

  it.each([
    ['an approval', voteOf('approve'), 9],
    ['a vote on another batch', voteOf('cancel', batchIndex + 1n), 9],
  ])('never signs %s', async (_what, cancelTx, code) => {
    const cli = cliWith(cancelTx);
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--allow-unverified', '--yes');
    expect([exit, stdout, complaint(stderr).error]).toEqual([code, '', 'ERR_APPROVAL_REFUSED']);
    expect(asked(cli)).toEqual([{ batchId: ID }]);
  });

  it('does not sign where no chain can be read, nor with a keypair of somebody else', async () => {
    const blind = cliWith(voteOf('cancel'));
    expect((await refusal(blind, ...WORDS, '--yes'))[2]).toContain('No chain can be read');
    const other = cliWith(voteOf('cancel'), { env: { FLYWHEEL_KEYPAIR: 'none.json' } });
    const { exit, stderr } = await other.run('batch', 'cancel', ID, '--yes', '--allow-unverified');
    expect([exit, complaint(stderr).message]).toEqual([2, 'none.json: there is no such file.']);
    expect([...asked(blind), ...asked(other)]).toEqual([{ batchId: ID }, { batchId: ID }]);
  });

  it.each([
    ['ERR_BATCH_NOT_FOUND', 5],
    ['ERR_BATCH_IN_PROGRESS', 6],
  ] as const)('exits for %s with %i', async (code, exit) => {
    const cli = cliWith(null);
    cli.service.answer('cancelBatch', () => refuse(code, 'It did not work.'));
    expect(await refusal(cli, ...WORDS)).toEqual([exit, code, 'It did not work.']);
  });

  it('prints for people and in JSON what it did the first time, when it is run again', async () => {
    const cli = cliWith(null);
    const first = await cli.run(...WORDS);
    const again = await testCli({ ...READER, service: cli.service, home: cli.home }).run(...WORDS);
    expect(again.stdout).toContain(`Batch ${ID} is over`);
    expect(again.stderr).toContain('Done before, on');
    expect((await cli.run(...WORDS)).stdout).toBe(first.stdout);
    expect(asked(cli)).toHaveLength(1);
  });

  it.each([
    [['batch', 'cancel', 'b-1'], 'ERR_INPUT_INVALID', 'A batch id is a UUID'],
    [['batch', 'cancel'], 'ERR_USAGE', "Missing required argument 'batchId'"],
    [[...WORDS, '--expect', 'p.json'], 'ERR_USAGE', "Unknown option '--expect'"],
    [['batch', 'cancel', ID, '--keypair', '5'.repeat(88)], 'ERR_KEYPAIR_INVALID', 'takes the name of a file'],
  ])('refuses %j without asking', async (words, code, message) => {
    const cli = cliWith(null);
    expect(await refusal(cli, ...words)).toEqual([2, code, expect.stringContaining(message)]);
    expect(cli.service.calls).toEqual([]);
  });
});
