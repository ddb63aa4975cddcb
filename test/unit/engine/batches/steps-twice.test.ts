/**
 * Signs and sends every step of a batch twice as the operator: one takes effect, the other fails and costs its fee. So the engine
 * needs no proof that a step has not landed before it signs the step again. SQUADS_PROGRAM selects the real program.
 */
import { ComputeBudgetProgram, PublicKey, Transaction } from '@solana/web3.js';
import { afterEach, expect, it } from 'vitest';
import type { Chain } from '../../../../src/chain/chain.js';
import { instructionName } from '../../../../src/chain/squads/instructions.js';
import type { Signer } from '../../../../src/chain/transaction/sign.js';
import type { Address } from '../../../../src/values/address.js';
import { base58Encode } from '../../../../src/values/bytes.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  lamportsOf,
  openTestEngine,
  signApproval,
  signVote,
  type TestEngine,
} from '../../../support/engine.js';
import { approveOutside } from '../../../support/other-tools.js';

let test: TestEngine;
afterEach(() => test.destroy());

const SQUADS = 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf';

async function twinOf(wire: Uint8Array, signer: Signer): Promise<Uint8Array> {
  const transaction = Transaction.from(wire);
  transaction.instructions = [
    ComputeBudgetProgram.setComputeUnitLimit({ units: 1_399_999 }),
    ...transaction.instructions.filter(({ programId }) => !programId.equals(ComputeBudgetProgram.programId)),
  ];
  const message = transaction.compileMessage().serialize();
  transaction.signatures = [];
  const [signature] = await signer.signAll([message]);
  transaction.addSignature(new PublicKey(signer.address), Buffer.from(signature as Uint8Array));
  return transaction.serialize();
}

const namesOf = (wire: Uint8Array): readonly string[] =>
  Transaction.from(wire).instructions.flatMap(({ programId, data }) =>
    programId.toBase58() === SQUADS ? [instructionName(data) ?? '?'] : [],
  );

/** A chain that sends a twin after each transaction of the operator. @param fees - paid by the twins. */
function twice(done: Map<string, string>, fees: { lamports: bigint }): Chain {
  const operator = test.deps.keyring.get(test.project.registration.operator as Address);
  return chainOver(test.chain, {
    submitBundles: async (bundles) => {
      const receipt = await test.chain.submitBundles(bundles);
      for (const wire of bundles.slice(0, receipt.length).flat()) {
        const twin = await twinOf(wire, operator);
        const before = await lamportsOf(test.chain, operator.address);
        const [rejection] = await test.chain.submit([twin]);
        fees.lamports += before - (await lamportsOf(test.chain, operator.address));
        expect(rejection).toBeNull();
        const signature = base58Encode(Transaction.from(twin).signature ?? new Uint8Array());
        const [record] = await test.chain.lookUp([signature]);
        for (const name of namesOf(wire)) done.set(name, record?.error == null ? 'acted' : 'failed');
      }
      return receipt;
    },
  });
}

const FAILED = (...names: readonly string[]) => new Map(names.map((name) => [name, 'failed']));

const init = async (engine = test.engine) => {
  const pipelines = Array.from({ length: 6 }, () => aPipeline([burnAction(1)]));
  return (await engine.initBatch({ pipelines }, test.project.call())).value;
};

it('acts once when a batch is set up, approved, executed and closed', async () => {
  test = await openTestEngine({ dailyBurn: '20' });
  const before = await lamportsOf(test.chain, test.project.registration.operator);
  const done = new Map<string, string>();
  const fees = { lamports: 0n };
  const engine = engineBeside(test, { chain: twice(done, fees) });
  const started = await init(engine);
  const signedTx = signApproval(test.project.owner, started);
  const { value, meta } = await engine.executeBatch(
    { batchId: started.batch.id, signedTx },
    test.project.call(),
  );
  expect(value.result).toMatchObject({ total: 6, totalSuccessful: 6 });
  expect(done).toEqual(
    FAILED(
      ...['batchCreate', 'proposalCreate', 'batchAddTransaction', 'proposalActivate', 'proposalApprove'],
      ...['batchExecuteTransaction', 'vaultBatchTransactionAccountClose', 'batchAccountsClose'],
    ),
  );
  expect((await test.engine.status()).burned).toBe('6');
  const paid = before - (await lamportsOf(test.chain, test.project.registration.operator));
  expect(paid).toBe((meta.cost?.operatorLamports ?? 0n) + fees.lamports);
});

it.each([
  ['rejected', 'proposalReject', false],
  ['cancelled', 'proposalCancelV2', true],
])('acts once when a batch is %s', async (_, name, isApproved) => {
  test = await openTestEngine({ dailyBurn: '20' });
  const started = await init();
  if (isApproved) await approveOutside(test, started);
  const done = new Map<string, string>();
  const engine = engineBeside(test, { chain: twice(done, { lamports: 0n }) });
  const batchId = started.batch.id;
  const { value } = await engine.cancelBatch({ batchId }, test.project.call());
  const signed = value.cancelTx && { signedTx: signVote(test.project.owner, value.cancelTx) };
  const ended = signed ? await engine.cancelBatch({ batchId, ...signed }, test.project.call()) : { value };
  expect(ended.value.batch).toMatchObject({ status: 'FAILED', executeResult: { totalSuccessful: 0 } });
  expect(done).toEqual(FAILED(name, 'vaultBatchTransactionAccountClose', 'batchAccountsClose'));
});
