/** What a node that keeps its past says of transactions, read from a local ledger. */
import type { LocalChain } from '../../src/chain/local/local-chain.js';
import { decodeTransaction } from '../../src/chain/transaction/wire.js';
import { base58Encode } from '../../src/values/base58.js';

const signatureOf = (wire: Uint8Array): string =>
  base58Encode(decodeTransaction(wire).signatures[0] ?? new Uint8Array());

/** `getSignatureStatuses`. */
export async function statusesOf(chain: LocalChain, signatures: readonly string[]): Promise<unknown> {
  const records = await chain.lookUp(signatures);
  return records.map(
    (record) =>
      record && {
        slot: Number(record.slot),
        confirmations: null,
        err: record.error === null ? null : 'InvalidAccountIndex',
        confirmationStatus: 'finalized',
      },
  );
}

/** `getSignaturesForAddress`, newest first; all of it is one page. */
export async function signaturesFor(chain: LocalChain, account: string): Promise<unknown> {
  const signatures = chain
    .transactionsAbove(0)
    .filter((wire) => decodeTransaction(wire).message.staticKeys.some((key) => key === account))
    .map(signatureOf);
  const records = await chain.lookUp(signatures);
  return signatures
    .map((signature, at) => ({
      signature,
      slot: Number(records[at]?.slot ?? 0),
      err: records[at]?.error === null ? null : 'InvalidAccountIndex',
      memo: null,
      blockTime: Math.floor((records[at]?.blockTimeMs ?? 0) / 1_000),
    }))
    .reverse();
}

/** `getTransaction` in base64. */
export async function transactionOf(chain: LocalChain, signature: string): Promise<unknown> {
  const [record] = await chain.lookUp([signature]);
  const wire = await chain.getTransaction(signature);
  if (record == null || wire === null) return null;
  return {
    slot: Number(record.slot),
    blockTime: Math.floor(record.blockTimeMs / 1_000),
    version: decodeTransaction(wire).message.version,
    meta: {
      err: record.error === null ? null : 'InvalidAccountIndex',
      fee: Number(record.feeLamports),
      innerInstructions: [],
      preBalances: [],
      postBalances: [],
      logMessages: record.logs,
    },
    transaction: [Buffer.from(wire).toString('base64'), 'base64'],
  };
}
