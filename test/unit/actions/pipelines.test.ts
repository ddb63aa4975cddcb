import { describe, expect, it } from 'vitest';
import {
  digestText,
  parseDigestText,
  pipelinesDigest,
  type SourcePipeline,
} from '../../../src/actions/pipelines.js';
import { readBatch } from '../../../src/approval/read-batch.js';
import { memo } from '../../../src/chain/small-programs.js';
import { sha256 } from '../../../src/values/digest.js';
import {
  type Accounts,
  accountsOf,
  batchIndex,
  batchState,
  multisig,
  pipelines,
  readerOf,
  vaultToken,
} from '../batch-on-chain.js';

const { vault } = vaultToken;
const describeAccounts = (accounts: Accounts) => readBatch(readerOf(accounts), { multisig, batchIndex });

describe('digest', () => {
  it('of the file equals that of the chain, and has a text form', async () => {
    const { digest } = await describeAccounts(accountsOf(batchState()));
    expect(digest).toBe(pipelinesDigest(pipelines));
    const text = digestText(pipelinesDigest(pipelines));
    expect(text).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(parseDigestText(text)).toBe(digest);
    expect(parseDigestText(text.slice(0, -1))).toBeUndefined();
    expect(parseDigestText(`md5${text}`)).toBeUndefined();
  });

  it('is that of a known text', () => {
    const canonical = `[{"actions":[{"action":"BURN","amount":"0.0000001"},{"action":"MEMO","message":"hi"}],"hash":"${sha256('p')}","type":"T"}]`;
    const file: SourcePipeline = {
      type: 'T',
      proofHash: sha256('p'),
      actions: [
        { action: 'BURN', amount: 1e-7 },
        { action: 'MEMO', message: 'hi' },
      ],
    };
    expect(pipelinesDigest([file])).toBe(sha256(canonical));
  });

  it('is missing where the content is not that of pipelines', async () => {
    const description = await describeAccounts(accountsOf(batchState([[memo('no proof', [vault])]])));
    expect(description).toMatchObject({ digest: null, pipelines: null });
    expect(description.pipelinesProblem).toContain('Transaction 1 is not a pipeline');
  });
});
