/** An honest batch above the amount for which the owner types the digest. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pipelinesDigest } from '../../../src/actions/pipelines.js';
import { FILE, honestWorld } from '../../attacks/world.js';
import { testCli } from '../../support/in-process.js';
import { ownerKeypair, pipelines } from '../batch-on-chain.js';
import { approvalIn, openedIn } from './approval-world.js';
import { person } from './single-command.js';

/** Burned and airdropped tokens of the honest batch. */
const TOTAL = '12345681.500001';
const DIGEST = pipelinesDigest(pipelines);

/** Without an answer it is a script that names the file. */
async function approve(digestAbove: string, answer?: string) {
  const world = honestWorld();
  const cli = testCli({ ...(answer === undefined ? {} : person(answer)), opened: openedIn(world) });
  await cli.run('profile', 'add', 'main', '--digest-above', digestAbove);
  const write = (name: string, value: unknown): string => {
    writeFileSync(join(cli.home, name), JSON.stringify(value), { mode: 0o600 });
    return name;
  };
  return cli.run(
    ...['batch', 'approve', approvalIn(cli.home, world), '--keypair', write('owner.json', [...ownerKeypair])],
    ...(answer === undefined ? ['--expect', write('pipelines.json', FILE), '--yes'] : []),
  );
}

describe('above the amount for which the digest is asked', () => {
  const LIMIT = '12345681.5';

  it.each(['y', 'yes', DIGEST.slice(0, 7), `${DIGEST.slice(0, 7)}g`, ''])(
    '%j is no consent',
    async (answer) => {
      const { exit, questions, stderr } = await approve(LIMIT, answer);
      expect([exit, questions]).toEqual([130, [expect.stringContaining('the 8 characters that follow')]]);
      expect(stderr).toContain(answer === '' ? 'Declined.' : 'The typed text does not match.');
      expect(questions.join()).not.toContain(DIGEST.slice(0, 8));
    },
  );

  it.each([
    ['its first eight characters are', LIMIT, DIGEST.slice(0, 8).toUpperCase()],
    ['a script has named it with --expect', LIMIT],
    ['y is enough up to that amount', TOTAL, 'y'],
  ])('%s', async (_what, limit, answer?) => {
    expect((await approve(limit, answer)).exit).toBe(0);
  });
});
