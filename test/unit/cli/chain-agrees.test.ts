/** Compares a service's report on a closed batch with the transaction history. */
import { describe, expect, it } from 'vitest';
import type { ChainReader, Signature } from '../../../src/chain/chain.js';
import { SQUADS_PROGRAM } from '../../../src/chain/programs.js';
import { memo } from '../../../src/chain/small-programs.js';
import {
  batchTransactionAddress,
  proposalAddress,
  transactionAddress,
} from '../../../src/chain/squads/addresses.js';
import { batchAccountsClose, batchAddTransaction, batchCreate } from '../../../src/chain/squads/builders.js';
import { encodeInstruction } from '../../../src/chain/squads/instructions.js';
import { encodeVaultMessage } from '../../../src/chain/squads/message.js';
import { compile, type Instruction } from '../../../src/chain/transaction/message.js';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../../src/chain/transaction/wire.js';
import { requireChainAgrees } from '../../../src/cli/batch/chain-agrees.js';
import type { Session } from '../../../src/cli/command.js';
import { base58Encode } from '../../../src/values/base58.js';
import type { Uuid } from '../../../src/values/ids.js';
import { signTransaction } from '../../support/sign.js';
import { batchIndex, multisig, vaultAt } from '../batch-on-chain.js';

const signer = createKeypairSigner(generateKeypair());
const create = batchCreate({
  ...{ multisig, batchIndex, vaultIndex: 0 },
  ...{ creator: signer.address, rentPayer: signer.address },
});
const executing = (number: number, index = batchIndex): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts: [
    multisig,
    signer.address,
    proposalAddress(multisig, index).address,
    transactionAddress(multisig, index).address,
    batchTransactionAddress(multisig, index, number).address,
  ].map((address) => ({ address, signer: address === signer.address, writable: true })),
  data: encodeInstruction('batchExecuteTransaction', {}),
});
const execute = executing(1);
const added = [1, 2].map((number) =>
  batchAddTransaction({
    ...{ multisig, batchIndex, number, member: signer.address, rentPayer: signer.address },
    message: encodeVaultMessage(compile(vaultAt.address, [memo(`${number}`, [])])),
  }),
);
const open = [create, ...added];
const made = [...open, batchAccountsClose({ multisig, batchIndex, rentCollector: signer.address })];

function wireOf(instructions: readonly Instruction[], nonce: number): Uint8Array {
  const blockhash = base58Encode(Uint8Array.from({ length: 32 }, () => nonce + 1));
  const message = compileLegacyMessage({ payer: signer.address, instructions, blockhash });
  return signTransaction(message, [signer]).bytes;
}

type Past = readonly Instruction[] | 'called from within' | null;

/** A chain with a closed batch after these transactions; `null` is a transaction that the node has pruned. */
function chainWith(transactions: readonly Past[]) {
  const wires = new Map(
    transactions.map((instructions, at) => [
      `s${at}`,
      typeof instructions === 'string' ? wireOf([], at) : instructions && wireOf(instructions, at),
    ]),
  );
  const chain = {
    getAccounts: async (addresses: readonly string[]) => addresses.map(() => null),
    lookUp: async (signatures: readonly string[]) =>
      signatures.map((signature, at) => ({
        ...{ error: null, wire: wires.get(signature) ?? null },
        logs: transactions[at] === 'called from within' ? [`Program ${SQUADS_PROGRAM} invoke [2]`] : [],
      })),
    history: async () =>
      [...wires.keys()].map((signature) => ({
        signature: signature as Signature,
        ...{ slot: 1, failed: false },
        memo: null,
        blockTimeMs: null,
      })),
  } as unknown as ChainReader;
  return { kind: 'remote', chain, pins: { multisig } as never } as const;
}

const session = { settings: { maxWaitSeconds: { value: 0 } } } as unknown as Session;

const batch = {
  id: 'b-1' as Uuid,
  batchIndex: String(batchIndex),
  status: 'FAILED' as const,
  initResult: { total: 2, totalSuccessful: 2 } as never,
};
const cancelled = { ...batch, dateCancelled: '2026-01-31T12:00:00.000Z' };
const said = (totalSuccessful: number) => ({ totalSuccessful, total: 2 });

describe('a batch that is closed on chain', () => {
  it('was cancelled when as much of it was executed as the service says', async () => {
    await requireChainAgrees(session, chainWith([made]), cancelled, said(0));
    await requireChainAgrees(session, chainWith([[execute], made]), cancelled, said(1));
    // Others execute their own batch and name this one, or repeat an execution.
    const strange = [executing(2, batchIndex + 1n), execute, execute];
    await requireChainAgrees(session, chainWith([strange, made]), cancelled, said(1));
  });

  it.each([
    ['all of it was executed', [[execute, executing(2)], made], /and 2 were executed\.$/],
    ['the node has forgotten a transaction', [null, made], /does not know/],
    ['the node has forgotten its beginning', [[execute]], /does not know/],
    ['another program has called it', [[...made, execute], 'called from within'], /does not know/],
    ['the node knows nothing of it', [], /does not know/],
    ['the node is behind and does not list its end', [open], /does not know/],
  ])('is not believed to be cancelled with nothing done when %s', async (_what, past, reason) => {
    await expect(
      requireChainAgrees(session, chainWith(past as readonly Past[]), cancelled, said(0)),
    ).rejects.toMatchObject({
      code: 'ERR_OUTCOME_UNKNOWN',
      message: expect.stringMatching(reason),
    });
  });

  it('has failed, or was executed, where the chain says as much; what waits is not closed', async () => {
    await requireChainAgrees(session, chainWith([made]), batch, said(0));
    await requireChainAgrees(session, chainWith([]), batch, said(2));
    const waits = { ...batch, status: 'FINALIZED' as const };
    for (const [other, count] of [
      [batch, 1],
      [waits, 0],
    ] as const)
      await expect(requireChainAgrees(session, chainWith([made]), other, said(count))).rejects.toMatchObject({
        code: 'ERR_OUTCOME_UNKNOWN',
      });
  });
});
