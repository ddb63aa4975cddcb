/** Amounts, proofs and memos (contract, section 1.6). */
import { VersionedTransaction } from '@solana/web3.js';
import { expect } from 'vitest';
import { it } from './cases.js';
import { balanceOf, instructionsOf, memosOf, supplyOf, wireBytes } from './chain-reading.js';
import {
  aBurnRequest,
  aPipeline,
  approved,
  burnAction,
  burning,
  canonicalHash,
  someWallet,
} from './requests.js';

const TOKEN_PROGRAMS = {
  token: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'token-2022': 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
} as const;
const BURN_CHECKED = 15;
const MAX_PROOF_BYTES = 64 * 1_024;

export function amounts(): void {
  it('2.1: burnAmount — "number (double)" contract 1.6: "JSON numbers become base units through their shortest decimal text, never through floating-point arithmetic."', async (api) => {
    for (const [decimals, burnAmount, baseUnits] of [
      [6, 0.29, 290_000n],
      [6, 1.005, 1_005_000n],
      [6, 8.2, 8_200_000n],
      [6, 1234567.891234, 1_234_567_891_234n],
      [6, 1e3, 1_000_000_000n],
      [9, 1.000000001, 1_000_000_001n],
      [9, 0.000000001, 1n],
      [2, 4.35, 435n],
      [0, 3, 3n],
    ] as const) {
      const project = await api.register({
        decimals,
        supply: '9000000',
        vaultTokens: '1000',
        burnWalletTokens: '8000000',
      });
      const before = await supplyOf(api, project);
      (await api.burn(project, aBurnRequest(burnAmount))).done();
      expect([burnAmount, before - (await supplyOf(api, project))]).toEqual([burnAmount, baseUnits]);
      const after = await supplyOf(api, project);
      if (burnAmount !== 4.35 && burnAmount !== 1.005) continue;
      const init = (await api.initBatch(project, burning(burnAmount))).done();
      (await api.executeBatch(project, approved(project, init))).done();
      expect([burnAmount, after - (await supplyOf(api, project))]).toEqual([burnAmount, baseUnits]);
    }
  });

  it('contract 1.6: "Proof hash: lowercase hex SHA-256 of the proof object in RFC 8785 canonical JSON"', async (api) => {
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
      const { hash } = (await api.burn(api.project, aBurnRequest(1, { proof: one }))).done();
      expect(hash).toBe(canonicalHash(one));
      const project = await api.register();
      const pipelines = [aPipeline([burnAction(1)], { payload: JSON.stringify(one, null, 1) })];
      const init = (await api.initBatch(project, { pipelines })).done();
      expect(init.batch.pipelines[0]?.proofHash).toBe(canonicalHash(one));
    }
  });

  it('contract 1.6: "Duplicate keys in a proof are refused."', async (api) => {
    const project = await api.register();
    const payload = '{"a":1,"b":{"x":1,"x":1}}';
    const init = await api.initBatch(project, { pipelines: [aPipeline([burnAction(1)], { payload })] });
    init.refused(400, 'ERR_INVALID_PROOF');
    const before = await supplyOf(api, project);
    const text = `{"type":"PRODUCT_BUY","proof":${payload},"burnAmount":1,"persistOnchain":false}`;
    expect((await api.http.post('burn', project, text)).status).toBe(400);
    expect(await supplyOf(api, project)).toBe(before);
  });

  it('contract 1.6: "On chain the proof is an SPL Memo, compact JSON `{"type":T,"hash":H}`: for a burn when `persistOnchain` is true" — and none when it is false', async (api) => {
    const request = aBurnRequest(1, { type: 'WATCH_AD', persistOnchain: true, proof: { z: 1, y: 'é' } });
    const { txHash } = (await api.burn(api.project, request)).done();
    expect(await memosOf(api, txHash)).toEqual([
      `{"type":"WATCH_AD","hash":"${canonicalHash(request.proof)}"}`,
    ]);
    const without = (await api.burn(api.project, { ...request, persistOnchain: false })).done();
    expect(await memosOf(api, without.txHash)).toEqual([]);
  });

  it('contract 1.6: "Proof contents never go on chain."', async (api) => {
    const project = await api.register();
    const secret = 'a-secret-of-the-customer';
    const request = aBurnRequest(1, { persistOnchain: true, proof: { secret } });
    const { txHash } = (await api.burn(project, request)).done();
    const pipelines = [aPipeline([burnAction(1)], { payload: JSON.stringify({ secret }) })];
    const init = (await api.initBatch(project, { pipelines })).done();
    const { result } = (await api.executeBatch(project, approved(project, init))).done();
    const hashes = [
      txHash,
      ...(init.batch.initResult?.successfulExecutions ?? []).flatMap(({ txHashes }) => txHashes),
      ...result.successfulExecutions.flatMap(({ txHashes }) => txHashes),
    ];
    for (const hash of hashes) {
      expect(Buffer.from(await wireBytes(api, hash)).includes(secret)).toBe(false);
    }
    expect(hashes.length).toBeGreaterThan(2);
  });

  for (const tokenProgram of ['token', 'token-2022'] as const)
    it(`contract 1.6: "Token and Token-2022 mints both work; burns are BurnChecked, airdrops TransferChecked" (${tokenProgram})`, async (api) => {
      const project = await api.register({ tokenProgram });
      const before = await supplyOf(api, project);
      const { txHash } = (await api.burn(project, aBurnRequest(2))).done();
      const ofToken = (await instructionsOf(api, txHash)).filter(
        ({ program }) => program === TOKEN_PROGRAMS[tokenProgram],
      );
      expect(ofToken.map(({ data }) => data[0])).toEqual([BURN_CHECKED]);
      const recipient = someWallet();
      const airdrop = { action: 'AIRDROP', toAddress: recipient, amount: 3 } as const;
      const init = (
        await api.initBatch(project, { pipelines: [aPipeline([burnAction(1), airdrop])] })
      ).done();
      (await api.executeBatch(project, approved(project, init))).done();
      expect(before - (await supplyOf(api, project))).toBe(3_000_000n);
      expect(await balanceOf(api, project, recipient)).toBe(3_000_000n);
    });

  it('contract 1.6: a burn is one signed transaction of the burn wallet, which pays for it', async (api) => {
    const { txHash } = (await api.burn(api.project, aBurnRequest(1))).done();
    const { message, signatures } = VersionedTransaction.deserialize(await wireBytes(api, txHash));
    expect([signatures.length, message.staticAccountKeys[0]?.toBase58()]).toEqual([
      1,
      api.project.burnWallet,
    ]);
  });

  it('contract 1.6: "proof | 64 KiB" — of canonical JSON, to the byte', async (api) => {
    const proof = (sizeBytes: number) => ({ text: 'x'.repeat(sizeBytes - '{"text":""}'.length) });
    (await api.burn(api.project, aBurnRequest(1, { proof: proof(MAX_PROOF_BYTES) }))).done();
    const over = proof(MAX_PROOF_BYTES + 1);
    (await api.burn(api.project, aBurnRequest(1, { proof: over }))).refused(400, 'ERR_INVALID_PROOF');
    const project = await api.register();
    const init = (payload: string) =>
      api.initBatch(project, { pipelines: [aPipeline([burnAction(1)], { payload })] });
    (await init(JSON.stringify(over))).refused(400, 'ERR_INVALID_PROOF');
    // White space does not count.
    expect((await init(JSON.stringify(proof(MAX_PROOF_BYTES), null, 2))).done().batch.status).toBe(
      'FINALIZED',
    );
  });

  it('contract 1.6: "elements | 1,000 a burn-batch" — all of them burn', async (api) => {
    const project = await api.register();
    const before = await supplyOf(api, project);
    const elements = Array.from({ length: 1_000 }, (_, order) => aBurnRequest(0.001, { proof: { order } }));
    const { success, errors } = (await api.burnBatch(project, elements)).done();
    expect([success.length, errors]).toEqual([1_000, []]);
    expect(success.map(({ hash }) => hash)).toEqual(elements.map(({ proof }) => canonicalHash(proof)));
    expect(new Set(success.map(({ txHash }) => txHash)).size).toBe(1_000);
    expect(before - (await supplyOf(api, project))).toBe(1_000_000n);
  });
}
