/** `flywheel proof verify`: only a landed transaction that carries this very hash verifies a proof. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChainReader, TransactionRecord } from '../../../../../src/chain/chain.js';
import { memo, proofMemoText } from '../../../../../src/chain/memo.js';
import { compileLegacyMessage, partiallySign } from '../../../../../src/chain/transaction/compile.js';
import { proofHash } from '../../../../../src/values/digest.js';
import { accountsOf, batchState, readerOf } from '../../../../support/batch-on-chain.js';
import { NOW_MS, type TestCliOptions, testCli } from '../../../../support/cli.js';
import { complaint, READER, refusal } from '../../../../support/commands.js';
import { replacing } from '../../../../support/doubles.js';
import { namedAddress } from '../../../../support/oracle.js';

const PROOF = { orderId: 'A-1' };
const HASH = proofHash(PROOF);
const TX = 'sig-1' as TransactionRecord['signature'];

/** A chain on which one transaction has landed, with a memo of a proof. */
function chainWith(parts: Partial<TransactionRecord> = {}, hash: string = HASH): ChainReader {
  const payer = namedAddress('payer');
  const instructions = [memo(proofMemoText('WATCH_AD', hash as typeof HASH), [payer])];
  const blockhash = namedAddress('blockhash');
  const wire = partiallySign(compileLegacyMessage({ payer, instructions, blockhash }), []);
  const record: TransactionRecord = {
    ...{ signature: TX, slot: 42n, blockTimeMs: NOW_MS, error: null, logs: [] },
    ...{ feeLamports: 5_000n, computeUnits: 1n, ...parts },
  };
  return replacing(readerOf(accountsOf(batchState())), {
    lookUp: async (signatures) => signatures.map((signature) => (signature === TX ? record : null)),
    getTransaction: async (signature) => (signature === TX ? wire : null),
  });
}

function cliWith(chain: ChainReader | null, options: TestCliOptions = {}) {
  const cli = testCli({ ...options, opened: { chain } });
  writeFileSync(join(cli.home, 'proof.json'), JSON.stringify(PROOF));
  return cli;
}

const WORDS = ['proof', 'verify', '--tx', TX, '--proof', 'proof.json'];

describe('proof verify', () => {
  it('prints what was found, and asks no service', async () => {
    const cli = cliWith(chainWith());
    const { exit, stdout, stderr } = await cli.run(...WORDS);
    expect([exit, stderr]).toEqual([0, '']);
    expect(stdout).toBe(
      `${JSON.stringify({
        ...{ verified: true, txHash: TX, hash: HASH, type: 'WATCH_AD', slot: '42' },
        dateLanded: '2026-01-31T12:00:00.000Z',
      })}\n`,
    );
    expect(cli.service.calls).toEqual([]);
  });

  it('says so to people', async () => {
    const { stdout } = await cliWith(chainWith(), READER).run(...WORDS);
    expect(stdout).toBe(
      [
        'Verified: the transaction carries the hash of this proof.',
        `transaction  ${TX}`,
        `proof hash   ${HASH}`,
        'proof type   WATCH_AD',
        'slot         42',
        'landed       2026-01-31T12:00:00.000Z',
        '',
      ].join('\n'),
    );
  });

  it.each([
    [
      'carries another hash',
      chainWith({}, proofHash({ orderId: 'A-2' })),
      'ERR_INVALID_PROOF',
      `carries no memo with the hash ${HASH}.`,
    ],
    [
      'has failed',
      chainWith({ error: { kind: 'transaction', error: 'AccountInUse' } }),
      'ERR_INVALID_PROOF',
      `The transaction ${TX} failed on chain.`,
    ],
  ] as const)('refuses a transaction that %s', async (_what, chain, code, message) => {
    expect(await refusal(cliWith(chain), ...WORDS)).toEqual([5, code, expect.stringContaining(message)]);
  });

  it('says so when nothing of that name has landed', async () => {
    const words = WORDS.map((word) => (word === TX ? 'sig-2' : word));
    expect(await refusal(cliWith(chainWith()), ...words)).toEqual([
      5,
      'ERR_NOT_FOUND',
      'No transaction sig-2 has landed.',
    ]);
  });

  it('says what is missing where no chain can be read', async () => {
    const { exit, stderr } = await cliWith(null).run(...WORDS);
    expect([exit, complaint(stderr)]).toMatchObject([
      2,
      { error: 'ERR_CONFIG_INVALID', hint: 'Set FLYWHEEL_RPC_URL to an RPC of your own.' },
    ]);
  });

  it.each([
    [['--tx', TX], "Required option '--proof <file>'"],
    [['--proof', 'proof.json'], "Required option '--tx <signature>'"],
  ])('needs more than %j', async (words, message) => {
    const answer = await refusal(testCli(), 'proof', 'verify', ...words);
    expect(answer).toEqual([2, 'ERR_USAGE', expect.stringContaining(message)]);
  });
});
