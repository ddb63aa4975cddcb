/** `batch approve` where no chain can be read: what the approval file says of itself is held against what is expected. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestText, pipelinesDigest, type SourcePipeline } from '../../../../../src/actions/pipelines.js';
import { buildApproval } from '../../../../../src/approval/build-approval.js';
import {
  batchIndex,
  flywheel,
  multisig,
  owner,
  ownerKeypair,
  pipelines,
} from '../../../../support/batch-on-chain.js';
import { testCli } from '../../../../support/cli.js';
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
async function approve(content: object, ...words: readonly string[]) {
  const { mint, vaultIndex, operator } = flywheel;
  const cli = testCli({ opened: { pins: { multisig, vaultIndex, mint, owner, operator, facts: null } } });
  const batch = { id: batchId, multisig, batchIndex: String(batchIndex) };
  writeFileSync(join(cli.home, 'approval.json'), JSON.stringify({ proposalApproveTx, batch, ...content }));
  writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return cli.run('batch', 'approve', 'approval.json', '--keypair', 'owner.json', '--yes', ...words);
}

describe('batch approve without a chain', () => {
  it('signs a file that carries what is expected', async () => {
    const words = ['--allow-unverified', '--expect', digestOf(pipelines)];
    const { exit, stdout } = await approve(holding(pipelines), ...words);
    expect([exit, JSON.parse(stdout).batchId]).toEqual([0, batchId]);
  });

  it('signs nothing when the file carries something else', async () => {
    const words = ['--allow-unverified', '--expect', digestOf(pipelines)];
    const { exit, stdout, stderr } = await approve(holding(pipelines.slice(1)), ...words);
    expect([exit, stdout]).toEqual([9, '']);
    expect(JSON.parse(stderr).message).toBe(
      `The digest of the approval file is ${digestOf(pipelines.slice(1))}, expected ${digestOf(pipelines)}.`,
    );
  });

  it('signs nothing when the file does not say what it carries', async () => {
    const words = ['--allow-unverified', '--expect', digestOf(pipelines)];
    const { exit, stdout, stderr } = await approve({}, ...words);
    expect([exit, stdout]).toEqual([9, '']);
    expect(stderr).toContain('could not be compared with anything');
  });

  it('signs nothing unless that was allowed', async () => {
    const { exit, stdout } = await approve(holding(pipelines), '--expect', digestOf(pipelines));
    expect([exit, stdout]).toEqual([9, '']);
  });
});
