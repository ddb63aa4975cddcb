/** Amounts, proofs and memos (contract, section 1.6). */
import { VersionedTransaction } from '@solana/web3.js';
import { expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/signer.js';
import type { Address } from '../../../src/values/address.js';
import { aBurnRequest, aPipeline, burnAction } from '../../support/engine.js';
import { instructionsOf, memosOf, wireBytes } from '../../support/landed.js';
import { canonicalHash } from '../../support/oracle.js';
import { balanceOf, supplyOf } from '../../support/service.js';
import type { Way } from '../../support/ways.js';
import { approved, burning } from './lifecycle.js';

const TOKEN_PROGRAMS = {
  token: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'token-2022': 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
} as const;
const BURN_CHECKED = 15;
const MAX_PROOF_BYTES = 64 * 1_024;

export function amounts(under: () => Way): void {
  it('contract 1.6: "JSON numbers are turned into base units through their shortest decimal text, never through floating-point arithmetic."', async () => {
    const way = under();
    for (const [decimals, burnAmount, baseUnits] of [
      [6, 0.29, 290_000n],
      [6, 1.005, 1_005_000n],
      [6, 8.2, 8_200_000n],
      [6, 1234567.891234, 1_234_567_891_234n],
      [9, 1.000000001, 1_000_000_001n],
      [9, 0.000000001, 1n],
      [2, 4.35, 435n],
      [0, 3, 3n],
    ] as const) {
      const project = await way.register({
        decimals,
        supply: '9000000',
        vaultTokens: '1000',
        burnWalletTokens: '8000000',
      });
      const before = await supplyOf(way, project);
      (await way.burn(project, aBurnRequest(burnAmount))).done();
      expect([burnAmount, before - (await supplyOf(way, project))]).toEqual([burnAmount, baseUnits]);
      const after = await supplyOf(way, project);
      if (burnAmount !== 4.35 && burnAmount !== 1.005) continue;
      const init = (await way.initBatch(project, burning(burnAmount))).done();
      (await way.executeBatch(project, approved(project, init))).done();
      expect([burnAmount, after - (await supplyOf(way, project))]).toEqual([burnAmount, baseUnits]);
    }
  });

  it('contract 1.6: "More decimals than the mint has, zero, negative, … overflow of u64: refused, saying why. Nothing is rounded, ever."', async () => {
    const way = under();
    const project = await way.register({ decimals: 2 });
    const before = await supplyOf(way, project);
    for (const [burnAmount, why] of [
      [0.001, /decimals/],
      [1.999, /decimals/],
      [0.1 + 0.2, /decimals/],
      [0, /positive/],
      [-1, /positive/],
      [1e300, /more than|hold|range|large/],
      [184_467_440_737_095_520, /more than|hold|range|large/],
    ] as const) {
      const answer = await way.burn(project, aBurnRequest(burnAmount, { proof: {} }));
      expect([burnAmount, answer.status, (answer.body as { message: string }).message]).toEqual([
        burnAmount,
        400,
        expect.stringMatching(why),
      ]);
    }
    expect(await supplyOf(way, project)).toBe(before);
  });

  it('contract 1.6: "Proof hash: lowercase hex SHA-256 of the proof object in RFC 8785 canonical JSON"', async () => {
    const way = under();
    const proof = {
      '€': 'Euro',
      '\r': 'CR',
      '1': 'One',
      '\u0080': 'C',
      ö: 'o',
      '\uD83D\uDE00': 'grin',
      '\uFB33': 'dalet',
    };
    const numbers = { a: 333333333.3333333, b: 1e-7, c: 4.5, d: 0.002, e: 1e-27, f: -0, g: 5e-324 };
    for (const one of [proof, numbers]) {
      const { hash } = (await way.burn(way.test.project, aBurnRequest(1, { proof: one }))).done();
      expect(hash).toBe(canonicalHash(one));
      const project = await way.register();
      const pipelines = [aPipeline([burnAction(1)], { payload: JSON.stringify(one, null, 1) })];
      const init = (await way.initBatch(project, { pipelines })).done();
      expect(init.batch.pipelines[0]?.proofHash).toBe(canonicalHash(one));
    }
  });

  it('contract 1.6: "Duplicate keys in a proof are refused."', async () => {
    const way = under();
    const project = await way.register();
    const payload = '{"a":1,"b":{"x":1,"x":1}}';
    const init = await way.initBatch(project, { pipelines: [aPipeline([burnAction(1)], { payload })] });
    init.refused(400, 'ERR_INVALID_PROOF');
    if (way.http === undefined) return;
    const before = await supplyOf(way, project);
    const text = `{"type":"PRODUCT_BUY","proof":${payload},"burnAmount":1,"persistOnchain":false}`;
    expect((await way.http.post('burn', project, text)).status).toBe(400);
    expect(await supplyOf(way, project)).toBe(before);
  });

  it('contract 1.6: "On chain the proof is an SPL Memo, compact JSON `{"type":T,"hash":H}`: for a burn when `persistOnchain` is true"', async () => {
    const way = under();
    const request = aBurnRequest(1, { type: 'WATCH_AD', persistOnchain: true, proof: { z: 1, y: 'é' } });
    const { txHash } = (await way.burn(way.test.project, request)).done();
    expect(await memosOf(way.test, txHash)).toEqual([
      `{"type":"WATCH_AD","hash":"${canonicalHash(request.proof)}"}`,
    ]);
  });

  it('contract 1.6: "Proof contents never go on chain."', async () => {
    const way = under();
    const project = await way.register();
    const secret = 'a-secret-of-the-customer';
    const request = aBurnRequest(1, { persistOnchain: true, proof: { secret } });
    const { txHash } = (await way.burn(project, request)).done();
    const pipelines = [aPipeline([burnAction(1)], { payload: JSON.stringify({ secret }) })];
    const init = (await way.initBatch(project, { pipelines })).done();
    const { result } = (await way.executeBatch(project, approved(project, init))).done();
    const hashes = [
      txHash,
      ...(init.batch.initResult?.successfulExecutions ?? []).flatMap(({ txHashes }) => txHashes),
      ...result.successfulExecutions.flatMap(({ txHashes }) => txHashes),
    ];
    for (const hash of hashes) {
      expect(Buffer.from(await wireBytes(way.test, hash)).includes(secret)).toBe(false);
    }
    expect(hashes.length).toBeGreaterThan(4);
  });

  it.each(['token', 'token-2022'] as const)(
    'contract 1.6: "Token and Token-2022 mints both work; burns are BurnChecked, airdrops TransferChecked" (%s)',
    async (tokenProgram) => {
      const way = under();
      const project = await way.register({ tokenProgram });
      const before = await supplyOf(way, project);
      const { txHash } = (await way.burn(project, aBurnRequest(2))).done();
      const ofToken = (await instructionsOf(way.test, txHash)).filter(
        ({ program }) => program === TOKEN_PROGRAMS[tokenProgram],
      );
      expect(ofToken.map(({ data }) => data[0])).toEqual([BURN_CHECKED]);
      const recipient = createKeypairSigner(generateKeypair()).address;
      const airdrop = { action: 'AIRDROP', toAddress: recipient as Address, amount: 3 } as const;
      const init = (
        await way.initBatch(project, { pipelines: [aPipeline([burnAction(1), airdrop])] })
      ).done();
      (await way.executeBatch(project, approved(project, init))).done();
      expect(before - (await supplyOf(way, project))).toBe(3_000_000n);
      expect(await balanceOf(way, project, recipient)).toBe(3_000_000n);
    },
  );

  it('contract 1.6: a burn is one signed transaction of the burn wallet, which pays for it', async () => {
    const way = under();
    const { txHash } = (await way.burn(way.test.project, aBurnRequest(1))).done();
    const { message, signatures } = VersionedTransaction.deserialize(await wireBytes(way.test, txHash));
    expect([signatures.length, message.staticAccountKeys[0]?.toBase58()]).toEqual([
      1,
      way.test.project.registration.burnWallet,
    ]);
  });

  it('contract 1.6: "64 KiB a proof" — of canonical JSON, to the byte', async () => {
    const way = under();
    const proof = (sizeBytes: number) => ({ text: 'x'.repeat(sizeBytes - '{"text":""}'.length) });
    (await way.burn(way.test.project, aBurnRequest(1, { proof: proof(MAX_PROOF_BYTES) }))).done();
    const over = proof(MAX_PROOF_BYTES + 1);
    (await way.burn(way.test.project, aBurnRequest(1, { proof: over }))).refused(400, 'ERR_INVALID_PROOF');
    const project = await way.register();
    const init = (payload: string) =>
      way.initBatch(project, { pipelines: [aPipeline([burnAction(1)], { payload })] });
    (await init(JSON.stringify(over))).refused(400, 'ERR_INVALID_PROOF');
    // White space does not count.
    expect((await init(JSON.stringify(proof(MAX_PROOF_BYTES), null, 2))).done().batch.status).toBe(
      'FINALIZED',
    );
  });

  it('contract 1.6: "1,000 elements a burn-batch" — all of them burn', async () => {
    const way = under();
    const project = await way.register();
    const before = await supplyOf(way, project);
    const elements = Array.from({ length: 1_000 }, (_, order) => aBurnRequest(0.001, { proof: { order } }));
    const { success, errors } = (await way.burnBatch(project, elements)).done();
    expect([success.length, errors]).toEqual([1_000, []]);
    expect(success.map(({ hash }) => hash)).toEqual(elements.map(({ proof }) => canonicalHash(proof)));
    expect(new Set(success.map(({ txHash }) => txHash)).size).toBe(1_000);
    expect(before - (await supplyOf(way, project))).toBe(1_000_000n);
  });
}
