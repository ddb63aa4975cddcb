/** A service that says that a burn failed, and a chain of the user's own that says otherwise. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PastTransaction } from '../../../src/chain/chain.js';
import { proofMemoText } from '../../../src/chain/memo.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { proofHash } from '../../../src/values/digest.js';
import { fakeService } from '../../support/fake-service.js';
import { NOW_MS, type TestCli, testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';

const PROOF = { a: 1 };
const WORDS = ['burn', '--type', 'WATCH_AD', '--proof', JSON.stringify(PROOF), '--amount', '1'];
const landed: PastTransaction = {
  signature: 'sig-1' as PastTransaction['signature'],
  memo: `[99] ${proofMemoText('WATCH_AD', proofHash(PROOF))}`,
  blockTimeMs: NOW_MS,
};

/** A command line whose service says that burns failed, beside a chain with these memos. */
function liedTo(memos: readonly PastTransaction[]): TestCli {
  const service = fakeService();
  service.answer('burn', () => {
    throw new FlywheelError('ERR_BURN_TOKENOMICS_FAILED', 'Not enough tokens.', { status: 400 });
  });
  service.answer('burnBatch', () => ({
    meta: { replayed: false },
    value: {
      success: [],
      errors: [
        { message: 'Not enough.', type: 'ERR_BURN_TOKENOMICS_FAILED', proof: PROOF, proofType: 'WATCH_AD' },
      ],
    },
  }));
  const history = {
    pastOf: async (_account: string, sinceMs: number) =>
      memos.filter(({ blockTimeMs }) => (blockTimeMs ?? sinceMs) >= sinceMs),
  };
  const pins = { mint: namedAddress('mint') } as never;
  return testCli({ service, opened: { kind: 'remote', history, pins } });
}

const lastLine = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '');

describe('a burn that is said to have failed', () => {
  it('is unknown, and stays pending, when its proof is on chain', async () => {
    const cli = liedTo([landed]);
    const { exit, stderr } = await cli.run(...WORDS, '--persist-onchain');
    expect([exit, lastLine(stderr).error]).toEqual([7, 'ERR_OUTCOME_UNKNOWN']);
    expect(lastLine(stderr).message).toContain('transaction sig-1 on chain carries its proof');
    expect(await cli.pending()).toEqual(['burn open']);
  });

  it('is so in a burn-batch', async () => {
    const cli = liedTo([landed]);
    const burns = [{ type: 'WATCH_AD', proof: PROOF, burnAmount: 1, persistOnchain: true }];
    writeFileSync(join(cli.home, 'burns.json'), JSON.stringify(burns));
    const { exit, stderr } = await cli.run('burn-batch', 'burns.json');
    expect([exit, lastLine(stderr).error]).toEqual([7, 'ERR_OUTCOME_UNKNOWN']);
    expect(await cli.pending()).toEqual(['burn-batch open']);
  });

  it('has failed when nothing of it is on chain, or only what is older', async () => {
    const older = { ...landed, blockTimeMs: NOW_MS - 3_600_000 };
    const other = { ...landed, memo: proofMemoText('WATCH_AD', proofHash({ a: 2 })) };
    const cli = liedTo([older, other]);
    expect((await cli.run(...WORDS, '--persist-onchain')).exit).toBe(5);
    expect(await cli.pending()).toEqual([]);
    expect((await liedTo([landed]).run(...WORDS)).exit).toBe(5);
  });
});
