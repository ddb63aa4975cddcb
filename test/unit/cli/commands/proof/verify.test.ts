/** `flywheel proof verify`: only a landed transaction that carries this very hash verifies a proof, and only what it moved an amount. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pins } from '../../../../../src/approval/pins.js';
import type { ChainReader, History, TransactionRecord } from '../../../../../src/chain/chain.js';
import { memo, proofMemoText } from '../../../../../src/chain/memo.js';
import { burnChecked } from '../../../../../src/chain/tokens/instructions.js';
import { compileLegacyMessage, partiallySign } from '../../../../../src/chain/transaction/compile.js';
import { proofHash, type Sha256 } from '../../../../../src/values/digest.js';
import { accountsOf, batchState, flywheel, readerOf } from '../../../../support/batch-on-chain.js';
import { complaint, READER, refusal } from '../../../../support/commands.js';
import { replacing } from '../../../../support/doubles.js';
import { NOW_MS, type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const PROOF = { orderId: 'A-1' };
const HASH = proofHash(PROOF);
const TX = 'sig-1' as TransactionRecord['signature'];

const BURNED = { mint: flywheel.mint, burned: { amount: '1.5', baseUnits: '1500000' }, sent: [] };

/** A chain on which one transaction has landed: a memo of a proof, and a burn of one and a half tokens. */
function chainWith(parts: Partial<TransactionRecord> = {}, hash: Sha256 = HASH): ChainReader {
  const { mint, decimals, tokenProgram, vaultTokenAccount: account } = flywheel;
  const payer = namedAddress('payer');
  const burn = burnChecked({ mint, decimals, tokenProgram, account, owner: payer, amount: 1_500_000n });
  const instructions = [memo(proofMemoText('WATCH_AD', hash), [payer]), burn];
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

const history: History = { pastOf: async () => [] };
const pins: Pins = { ...flywheel, facts: null };

function cliWith(chain: ChainReader | null, options: TestCliOptions = {}) {
  const cli = testCli({ ...options, opened: { chain, history, pins } });
  writeFileSync(join(cli.home, 'proof.json'), JSON.stringify(PROOF));
  return cli;
}

const WORDS = ['proof', 'verify', '--tx', TX, '--proof', 'proof.json'];

describe('proof verify', () => {
  it('prints what was found, and asks no service', async () => {
    const cli = cliWith(chainWith());
    const { exit, stdout, stderr } = await cli.run(...WORDS);
    expect([exit, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({
      ...{ verified: true, txHash: TX, hash: HASH, type: 'WATCH_AD', slot: '42' },
      ...{ dateLanded: '2026-01-31T12:00:00.000Z', amounts: 'not compared', balances: 'not kept' },
      moved: BURNED,
    });
    expect(cli.service.calls).toEqual([]);
  });

  it('says so to people', async () => {
    const { stdout } = await cliWith(chainWith(), READER).run(...WORDS);
    const lines = stdout.split('\n').map((line) => line.replace(/ +/g, ' '));
    expect(lines).toEqual(
      expect.arrayContaining([`transaction ${TX}`, `proof hash ${HASH}`, 'proof type WATCH_AD', 'slot 42']),
    );
    expect(lines[0]).toMatch(/^Verified: /);
  });

  it('holds what it moved against the amount that was said, which is exit 9 where they differ', async () => {
    const { exit, stdout } = await cliWith(chainWith()).run(...WORDS, '--amount', '1.5');
    expect([exit, JSON.parse(stdout)]).toMatchObject([0, { amounts: 'agree', moved: BURNED }]);
    const [code, error, message] = await refusal(cliWith(chainWith()), ...WORDS, '--amount', '1.500001');
    expect([code, error]).toEqual([9, 'ERR_NOT_VERIFIED']);
    expect(message).toBe(
      'The transaction sig-1 is not verified: burned were 1500000 base units, expected 1500001.',
    );
  });

  it('holds it against the entry of a file with this proof', async () => {
    const cli = cliWith(chainWith());
    const burns = [{ type: 'WATCH_AD', proof: PROOF, burnAmount: 1.5, persistOnchain: true }];
    writeFileSync(join(cli.home, 'burns.json'), JSON.stringify(burns));
    const { exit, stdout } = await cli.run(...WORDS, '--expect', 'burns.json');
    expect([exit, JSON.parse(stdout).amounts]).toEqual([0, 'agree']);
    writeFileSync(join(cli.home, 'burns.json'), JSON.stringify([{ ...burns[0], burnAmount: 2 }]));
    expect((await refusal(cli, ...WORDS, '--expect', 'burns.json')).slice(0, 2)).toEqual([
      9,
      'ERR_NOT_VERIFIED',
    ]);
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
    [[...WORDS.slice(2), '--amount', '1', '--expect', 'b.json'], '--amount and --expect exclude each other.'],
    [['--proof', 'proof.json'], "Required option '--tx <signature>'"],
  ])('refuses %j', async (words, message) => {
    const answer = await refusal(testCli(), 'proof', 'verify', ...words);
    expect(answer).toEqual([2, 'ERR_USAGE', expect.stringContaining(message)]);
  });
});
