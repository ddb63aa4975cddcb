/** `flywheel batch approve` with a keypair: what is asked, printed and written; and what may be signed where no chain can be read. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestText, pipelinesDigest, type SourcePipeline } from '../../../../../src/actions/pipelines.js';
import { buildApproval } from '../../../../../src/approval/build-approval.js';
import { generateKeypair } from '../../../../../src/chain/transaction/signer.js';
import { decodeTransaction } from '../../../../../src/chain/transaction/wire.js';
import { approvalIn, FILE, honestWorld, openedIn, type World } from '../../../../support/approval-world.js';
import {
  batchIndex,
  flywheel,
  multisig,
  owner,
  ownerKeypair,
  pipelines,
} from '../../../../support/batch-on-chain.js';
import { person, refusal } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const batchId = '00000000-0000-4000-8000-000000000007';
const proposalApproveTx = Buffer.from(
  buildApproval({ owner, multisig, batchIndex, blockhash: namedAddress('blockhash') }),
).toString('base64');
const digestOf = (expected: readonly SourcePipeline[]): string => digestText(pipelinesDigest(expected));
const holding = (content: readonly SourcePipeline[]) => ({
  pipelines: content.map(({ type, proofHash, actions }) => ({ type, hash: proofHash, actions })),
});

/** Approves, with everything said beforehand, a file that carries this beside the approval. */
async function approveUnread(content: object, ...words: readonly string[]) {
  const { mint, vaultIndex, operator } = flywheel;
  const cli = testCli({ opened: { pins: { multisig, vaultIndex, mint, owner, operator, facts: null } } });
  const batch = { id: batchId, multisig, batchIndex: String(batchIndex) };
  writeFileSync(join(cli.home, 'approval.json'), JSON.stringify({ proposalApproveTx, batch, ...content }));
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli.run('batch', 'approve', 'approval.json', '--keypair', 'owner.json', '--yes', ...words);
}

/** A command line in an honest world, with all its files; the service can be asked for nothing. */
function cliIn(world: World, options: TestCliOptions = {}) {
  const cli = testCli({ ...options, opened: openedIn(world) });
  approvalIn(cli.home, world);
  writeFileSync(join(cli.home, 'pipelines.json'), JSON.stringify(FILE));
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli;
}

const HONEST_ID = honestWorld('token').batch.id;
const WORDS = ['batch', 'approve', 'approval.json', '--keypair', 'owner.json'];
const SCRIPT = ['--expect', 'pipelines.json', '--yes'];

/** Has the owner signed, and nothing else changed? */
function expectSigned(signedTx: string, { wire }: World): void {
  const signed = decodeTransaction(Buffer.from(signedTx, 'base64'));
  const given = decodeTransaction(Buffer.from(wire));
  expect(signed.messageBytes).toEqual(given.messageBytes);
  const place = given.message.staticKeys.indexOf(owner);
  const changed = signed.signatures.filter(
    (signature, at) => !Buffer.from(signature).equals(Buffer.from(given.signatures[at] ?? [])),
  );
  expect(changed).toEqual([signed.signatures[place]]);
}

describe('batch approve', () => {
  it('signs in a script what is expected, prints it and writes it', async () => {
    const world = honestWorld('token');
    const cli = cliIn(world);
    const { exit, stdout, stderr, questions } = await cli.run(...WORDS, ...SCRIPT, '--out', 'signed.json');
    expect([exit, stderr, questions]).toEqual([0, '', []]);
    const { batchId: id, signedTx, ...rest } = JSON.parse(stdout);
    expect([id, rest]).toEqual([HONEST_ID, {}]);
    expectSigned(signedTx, world);
    expect(readFileSync(join(cli.home, 'signed.json'), 'utf8')).toBe(stdout);
  });

  it('asks the owner on a terminal, and says how to go on', async () => {
    const cli = cliIn(honestWorld('token'), person('y'));
    const { exit, stdout, stderr, questions } = await cli.run(...WORDS, '--out', 'signed.json');
    expect([exit, questions]).toEqual([0, [`Sign the approval of batch ${HONEST_ID} as ${owner}? [y/N] `]]);
    expect(stderr).toContain('The batch was not compared with a pipelines file; --expect does that.');
    const [first, , next] = stdout.split('\n');
    expect(first).toBe(`Signed the approval of batch ${HONEST_ID}.`);
    expect(next).toBe(`Next: flywheel batch execute ${HONEST_ID} --signed-tx @signed.json`);
  });

  it('signs and writes nothing after a no', async () => {
    const cli = cliIn(honestWorld('token'), person('n'));
    const { exit, stdout, stderr } = await cli.run(...WORDS, '--out', 'signed.json');
    expect([exit, stdout, existsSync(join(cli.home, 'signed.json'))]).toEqual([130, '', false]);
    expect(stderr).toContain('error: Declined; nothing was signed. (ERR_DECLINED)');
  });

  it('signs nothing more where the owner has approved', async () => {
    const world = honestWorld('token');
    world.state = (state) => {
      state.proposal = { ...state.proposal, approved: [owner] };
    };
    const { exit, stdout } = await cliIn(world).run(...WORDS, ...SCRIPT);
    expect([exit, JSON.parse(stdout)]).toEqual([0, { batchId: HONEST_ID, alreadyApproved: true }]);
  });

  it('signs nothing with a keypair of somebody else', async () => {
    const cli = cliIn(honestWorld('token'));
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...generateKeypair()]), { mode: 0o600 });
    const [exit, code, message] = await refusal(cli, ...WORDS, ...SCRIPT);
    expect([exit, code, message]).toEqual([
      9,
      'ERR_APPROVAL_REFUSED',
      expect.stringContaining('The keypair is that of'),
    ]);
  });

  it.each([
    [[], '--yes and --expect; nothing was signed.'],
    [['--expect', 'pipelines.json'], 'Without a terminal an approval needs --yes; nothing was signed.'],
    [['--yes'], 'Without a terminal an approval needs --expect; nothing was signed.'],
  ])('needs in a script more than %j', async (words, message) => {
    const answer = await refusal(cliIn(honestWorld('token')), ...WORDS, ...words);
    expect(answer).toEqual([2, 'ERR_USAGE', expect.stringContaining(message)]);
  });

  it.each([
    [[...WORDS, ...SCRIPT, '--out', 'no/such/s.json'], 'ERR_INPUT_INVALID', 'no/such'],
    [
      ['batch', 'approve', 'none.json', '--keypair', 'owner.json', ...SCRIPT],
      'ERR_INPUT_INVALID',
      'no such file',
    ],
    [['batch', 'approve', 'approval.json', '--keypair', 'none.json'], 'ERR_KEYPAIR_INVALID', 'no such file'],
    [['batch', 'approve', 'approval.json'], 'ERR_KEYPAIR_INVALID', 'No keypair was given.'],
    [[...WORDS, '--expect', 'owner.json', '--yes'], 'ERR_INPUT_INVALID', 'owner.json: '],
    [['batch', 'approve'], 'ERR_USAGE', "Missing required argument 'approval'"],
  ])('refuses %j', async (words, code, message) => {
    const answer = await refusal(cliIn(honestWorld('token')), ...words);
    expect(answer).toEqual([2, code, expect.stringContaining(message)]);
  });
});

describe('batch approve without a chain', () => {
  it('signs a file that carries what is expected', async () => {
    const words = ['--allow-unverified', '--expect', digestOf(pipelines)];
    const { exit, stdout } = await approveUnread(holding(pipelines), ...words);
    expect([exit, JSON.parse(stdout).batchId]).toEqual([0, batchId]);
  });

  it('signs nothing when the file carries something else', async () => {
    const words = ['--allow-unverified', '--expect', digestOf(pipelines)];
    const { exit, stdout, stderr } = await approveUnread(holding(pipelines.slice(1)), ...words);
    expect([exit, stdout]).toEqual([9, '']);
    expect(JSON.parse(stderr).message).toBe(
      `The digest of the approval file is ${digestOf(pipelines.slice(1))}, expected ${digestOf(pipelines)}.`,
    );
  });

  it('signs nothing when the file does not say what it carries', async () => {
    const words = ['--allow-unverified', '--expect', digestOf(pipelines)];
    const { exit, stdout, stderr } = await approveUnread({}, ...words);
    expect([exit, stdout]).toEqual([9, '']);
    expect(stderr).toContain('could not be compared with anything');
  });

  it('signs nothing unless that was allowed', async () => {
    const { exit, stdout } = await approveUnread(holding(pipelines), '--expect', digestOf(pipelines));
    expect([exit, stdout]).toEqual([9, '']);
  });
});
