/** Init of a batch (contract, section 1.2). */
import { ComputeBudgetProgram, Message, PublicKey, VersionedTransaction } from '@solana/web3.js';
import { instructions as squads } from '@sqds/multisig';
import bs58 from 'bs58';
import { expect } from 'vitest';
import type { Answer, Api, CompiledPipeline } from './api.js';
import { it } from './cases.js';
import { balanceOf, drain, lamportsOf, memosRun, supplyOf } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { aPipeline, approved, burnAction, burning, canonicalHash, someWallet } from './requests.js';

const TOKEN_ACCOUNT_RENT = 2_039_280n;

const airdrop = (toAddress: string, amount: number) =>
  ({ action: 'AIRDROP', toAddress: toAddress, amount }) as const;
const memo = (message: string) => ({ action: 'MEMO', message }) as const;

/** The refused request changes neither chain nor store nor cap. */
async function nothingBehind(api: Api, project: Project, ask: () => Promise<Answer>): Promise<Answer> {
  const state = async () => [
    await api.service.landedCount(),
    await supplyOf(api, project),
    (await api.currentBatch(project)).done(),
  ];
  const before = await state();
  const answer = await ask();
  expect(await state()).toEqual(before);
  return answer;
}

export function init(): void {
  it('contract 1.2: "Request: { "pipelines": [ { "type", "payload", "actions" } ] }" — each field is needed', async (api) => {
    const good = aPipeline([burnAction(1)]);
    const bad: readonly (readonly [unknown, string])[] = [
      [{}, 'pipelines'],
      [{ pipelines: {} }, 'pipelines'],
      [{ pipelines: [] }, 'pipelines'],
      [{ pipelines: [null] }, 'pipelines[0]'],
      [{ pipelines: [good, { ...good, type: 5 }] }, 'pipelines[1].type'],
      [{ pipelines: [good, { ...good, payload: { order: 1 } }] }, 'pipelines[1].payload'],
      [{ pipelines: [{ ...good, extra: 1 }] }, 'pipelines[0]'],
      [{ pipelines: [{ ...good, actions: 'BURN' }] }, 'pipelines[0].actions'],
      [{ pipelines: [{ ...good, actions: [] }] }, 'pipelines[0].actions'],
      [{ pipelines: [{ ...good, actions: [{ action: 'BURN' }] }] }, 'pipelines[0].actions[0]'],
      [
        { pipelines: [{ ...good, actions: [{ action: 'BURN', amount: '1' }] }] },
        'pipelines[0].actions[0].amount',
      ],
      [{ pipelines: [{ ...good, actions: [{ action: 'MEMO' }] }] }, 'pipelines[0].actions[0]'],
      [[good], ''],
      [null, ''],
    ];
    const project = await api.register();
    for (const [body, path] of bad) {
      const answer = await nothingBehind(api, project, () => api.initBatch(project, body));
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain(path);
    }
  });

  it('contract 1.2: "`payload` is the proof as JSON text (an object)." — refused otherwise', async (api) => {
    const project = await api.register();
    for (const payload of [
      'not json',
      '[1]',
      '"x"',
      '1',
      'null',
      '{"a":',
      '{"a":1,"a":2}',
      '{} {}',
      '{"a":"\\ud800"}',
    ]) {
      const pipelines = [aPipeline([burnAction(1)]), aPipeline([burnAction(1)], { payload })];
      const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
      expect(answer.refused(400, 'ERR_INVALID_PROOF')).toContain('pipelines[1].payload');
    }
  });

  it('contract 1.2: "`type` is a proof type of the project."', async (api) => {
    const project = await api.register({ proofTypes: ['ONLY'] });
    const pipelines = [aPipeline([burnAction(1)], { type: 'ONLY' }), aPipeline([burnAction(1)])];
    const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
    expect(answer.refused(400, 'ERR_INVALID_PROOF')).toMatch(/pipelines\[1\]\.type.*PRODUCT_BUY/);
    const unknown = ['ONLY', 'NOPE', 'NOPE'].map((type) => aPipeline([burnAction(1)], { type }));
    const again = await api.initBatch(project, { pipelines: unknown });
    expect(again.refused(400, 'ERR_INVALID_PROOF').split('NOPE')).toEqual([
      expect.stringContaining('pipelines[1], pipelines[2]: the proof type'),
      expect.any(String),
    ]);
  });

  it('contract 1.2: "`BUYBACK`, `LOCK` and `UNLOCK` are known names that are not available: 400 `ERR_ACTION_NOT_SUPPORTED`, nothing created"', async (api) => {
    const project = await api.register();
    for (const action of ['BUYBACK', 'LOCK', 'UNLOCK']) {
      for (const unavailable of [{ action }, { action, amount: 1, until: 'tomorrow' }]) {
        const pipelines = [aPipeline([burnAction(1)]), aPipeline([burnAction(1), unavailable])];
        const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
        expect(answer.refused(400, 'ERR_ACTION_NOT_SUPPORTED')).toMatch(
          new RegExp(`pipelines\\[1\\]\\.actions\\[1\\].*${action}`),
        );
      }
    }
  });

  it('contract 1.2: "An unknown name is 400 `ERR_INVALID_REQUEST`."', async (api) => {
    const project = await api.register();
    for (const action of ['MINT', 'burn', '', null, 5]) {
      const pipelines = [aPipeline([{ action, amount: 1 }])];
      const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain('pipelines[0].actions[0]');
    }
  });

  it('contract 1.2: "Amounts are in whole tokens (not base units), positive."', async (api) => {
    const project = await api.register();
    for (const amount of [0, -1, 0.0000001, 1e300]) {
      for (const action of [burnAction(amount), airdrop(someWallet(), amount)]) {
        const answer = await nothingBehind(api, project, () =>
          api.initBatch(project, { pipelines: [aPipeline([action])] }),
        );
        expect([answer.status, answer.body]).toEqual([
          400,
          { error: expect.any(String), message: expect.stringContaining('pipelines[0].actions[0]') },
        ]);
      }
    }
    const supply = await supplyOf(api, project);
    const started = (await api.initBatch(project, burning(0.000001, 3))).done();
    (await api.executeBatch(project, approved(project, started))).done();
    expect(supply - (await supplyOf(api, project))).toBe(3_000_001n);
  });

  it('contract 1.2: "The service validates everything …: … addresses"', async (api) => {
    const project = await api.register();
    // Tokens sent to a vault's address as a wallet would be lost.
    for (const toAddress of ['', 'nobody', '0OIl', '1'.repeat(31), '1'.repeat(33), project.vaultAddress]) {
      const pipelines = [aPipeline([airdrop(toAddress, 1)])];
      const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain('pipelines[0].actions[0]');
    }
  });

  it('contract 1.2, 1.3: "`ERR_PIPELINE_TOO_LARGE`, which says which pipeline, how large it is, and how many actions would fit"', async (api) => {
    const project = await api.register();
    const actions = Array.from({ length: 60 }, () => memo('x'.repeat(40)));
    const pipelines = [aPipeline([burnAction(1)]), aPipeline(actions)];
    const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
    const message = answer.refused(400, 'ERR_PIPELINE_TOO_LARGE');
    expect(message).toMatch(/pipelines\[1\].*\d{4} bytes/);
    const fits = Number(/first (\d+) of its 60 actions/.exec(message)?.[1]);
    expect([fits > 0, fits < 60]).toEqual([true, true]);
    const most = { pipelines: [aPipeline(actions.slice(0, fits))] };
    expect((await api.initBatch(project, most)).done().batch.status).toBe('FINALIZED');
    const oneMore = { pipelines: [aPipeline(actions.slice(0, fits + 1))] };
    (await api.initBatch(project, oneMore)).refused(400, 'ERR_PIPELINE_TOO_LARGE');
  });

  it('contract 1.3: "ERR_INSUFFICIENT_FUNDS — init: vault … lacks tokens or SOL; says how much of what, and the address to fund"', async (api) => {
    const project = await api.register({ vaultTokens: '5', vaultSol: '0.001' });
    const pipelines = [aPipeline([burnAction(3), airdrop(someWallet(), 2.5)])];
    const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
    const message = answer.refused(400, 'ERR_INSUFFICIENT_FUNDS');
    for (const part of [project.vaultAddress, '5 FLY', '5.5 FLY', '0.001 SOL'])
      expect(message).toContain(part);
  });

  it('contract 1.3: "ERR_INSUFFICIENT_FUNDS — init: … or operator lacks … SOL"', async (api) => {
    const project = await api.register();
    const { operator } = project;
    await drain(api, operator, 1_000_000n);
    const answer = await nothingBehind(api, project, () => api.initBatch(project, burning(1)));
    const message = answer.refused(400, 'ERR_INSUFFICIENT_FUNDS');
    for (const part of [operator, '0.001 SOL']) expect(message).toContain(part);
  });

  it('contract 1.2: "One pipeline is one batch transaction, in the order given." "its proof memo and its actions land together in ONE transaction"', async (api) => {
    const project = await api.register();
    const recipient = someWallet();
    const payloads = ['{"order":2}', '{"order":1}', '{"order":3}'];
    const pipelines = payloads.map((payload) =>
      aPipeline([burnAction(1), memo(`note ${payload}`), airdrop(recipient, 1)], { payload }),
    );
    const started = (await api.initBatch(project, { pipelines })).done();
    const { result } = (await api.executeBatch(project, approved(project, started))).done();
    const hashes = result.successfulExecutions.flatMap(({ txHashes }) => txHashes);
    expect(await Promise.all(hashes.map((txHash) => memosRun(api, txHash)))).toEqual(
      payloads.map((payload) => [
        `{"type":"PRODUCT_BUY","hash":"${canonicalHash(JSON.parse(payload))}"}`,
        `note ${payload}`,
      ]),
    );
    expect(await balanceOf(api, project, recipient)).toBe(3_000_000n);
  });

  it('contract 1.2: "Response 200" — status FINALIZED, the pipelines with proofHash and instructions', async (api) => {
    const project = await api.register();
    const payload = '{ "b": 1.50, "a": "é" }';
    const pipelines = [aPipeline([burnAction(1.5), memo('hi')], { payload, type: 'WATCH_AD' })];
    const value = (await api.initBatch(project, { pipelines })).done();
    expect(Object.keys(value).sort()).toEqual(['batch', 'proposalApproveTx']);
    expect(value.batch.status).toBe('FINALIZED');
    expect(value.batch.pipelines).toEqual([
      { ...pipelines[0], proofHash: canonicalHash({ a: 'é', b: 1.5 }), instructions: expect.any(Array) },
    ]);
  });

  it('contract 1.2: "fee payer is the operator, who has already signed; the one missing signature is the project owner\'s"', async (api) => {
    const project = await api.register();
    const { owner, operator, multisig } = project;
    const { proposalApproveTx, batch } = (await api.initBatch(project, burning(1))).done();
    const { message, signatures } = VersionedTransaction.deserialize(
      Buffer.from(proposalApproveTx, 'base64'),
    );
    expect(message.version).toBe(0);
    expect(message.staticAccountKeys.slice(0, 2).map((key) => key.toBase58())).toEqual([operator, owner]);
    expect(message.header.numRequiredSignatures).toBe(2);
    expect(signatures.map((signature) => signature.some((byte) => byte !== 0))).toEqual([true, false]);
    const expected = squads.proposalApprove({
      multisigPda: new PublicKey(multisig),
      transactionIndex: BigInt(batch.batchIndex),
      member: new PublicKey(owner),
    });
    // On a cluster there may be a compute unit price too.
    const [only, ...more] = message.compiledInstructions.filter(
      ({ programIdIndex }) =>
        message.staticAccountKeys[programIdIndex]?.equals(ComputeBudgetProgram.programId) !== true,
    );
    expect(more).toEqual([]);
    expect(message.staticAccountKeys[only?.programIdIndex ?? -1]?.toBase58()).toBe(
      expected.programId.toBase58(),
    );
    expect(Buffer.from(only?.data ?? [])).toEqual(expected.data);
    expect(only?.accountKeyIndexes.map((index) => message.staticAccountKeys[index]?.toBase58())).toEqual(
      expected.keys.map(({ pubkey }) => pubkey.toBase58()),
    );
  });

  it('contract 1.2: "`instructions` are one-instruction messages (payer = vault) that `Message.from` of web3.js decodes"', async (api) => {
    const project = await api.register();
    const actions = [burnAction(1), airdrop(someWallet(), 1), memo('hello')];
    const [pipeline] = (await api.initBatch(project, { pipelines: [aPipeline(actions)] })).done().batch
      .pipelines;
    const messages = (pipeline as CompiledPipeline).instructions.map((text) =>
      Message.from(Buffer.from(text, 'base64')),
    );
    // Proof memo, burn, opening of the recipient's account, transfer, memo.
    expect(messages).toHaveLength(5);
    for (const message of messages) {
      expect(message.instructions).toHaveLength(1);
      expect(message.accountKeys[0]?.toBase58()).toBe(project.vaultAddress);
    }
    const programs = messages.map(({ accountKeys, instructions }) =>
      accountKeys[instructions[0]?.programIdIndex ?? -1]?.toBase58().slice(0, 4),
    );
    expect(programs).toEqual(['Memo', 'Toke', 'ATok', 'Toke', 'Memo']);
    // BurnChecked, CreateIdempotent, TransferChecked.
    const firstBytes = messages.map(({ instructions }) => bs58.decode(instructions[0]?.data ?? '')[0]);
    expect(firstBytes.slice(1, 4)).toEqual([15, 1, 12]);
  });

  it('contract 1.6: "A missing recipient token account is created (rent from the vault)"', async (api) => {
    const project = await api.register();
    const [recipient, { vaultAddress }] = [someWallet(), project];
    const held = await lamportsOf(api, vaultAddress);
    for (const [amount, rent] of [
      [1, TOKEN_ACCOUNT_RENT],
      [2, 0n],
    ] as const) {
      const before = await lamportsOf(api, vaultAddress);
      const started = (
        await api.initBatch(project, { pipelines: [aPipeline([airdrop(recipient, amount)])] })
      ).done();
      (await api.executeBatch(project, approved(project, started))).done();
      expect(before - (await lamportsOf(api, vaultAddress))).toBe(rent);
    }
    expect(held - (await lamportsOf(api, vaultAddress))).toBe(TOKEN_ACCOUNT_RENT);
    expect(await balanceOf(api, project, recipient)).toBe(3_000_000n);
  });

  it('contract 1.6: "pipelines | 1,000 a batch" — more are refused', async (api) => {
    const pipelines = Array.from({ length: 1_001 }, () => aPipeline([memo('x')]));
    const project = await api.register();
    const answer = await nothingBehind(api, project, () => api.initBatch(project, { pipelines }));
    expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toMatch(/1,?000/);
  });
}
