/** What a node that keeps its past says of transactions, read from a local ledger. */
import type { LocalChain } from '../../src/chain/local/local-chain.js';
import { decodeTransaction } from '../../src/chain/transaction/wire.js';

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
  const signatures: string[] = [];
  for (const signature of chain.landedAfter('') ?? []) {
    const wire = (await chain.lookUp([signature]))[0]?.wire;
    if (wire != null && decodeTransaction(wire).message.staticKeys.some((key) => key === account))
      signatures.push(signature);
  }
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
  const wire = record?.wire;
  if (record == null || wire == null) return null;
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
