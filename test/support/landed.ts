/** What stands on chain, read with web3.js rather than with the decoders of the product. */
import { VersionedTransaction } from '@solana/web3.js';
import type { TransactionRecord } from '../../src/chain/chain.js';
import type { TestEngine } from './engine.js';

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
/** Some builds of the memo program write the text into the same line, some into the next. */
const MEMO_LOG = /^Program log: Memo \(len \d+\)(?:: "(.*)")?$/;
const LOG = 'Program log: ';

/** The record of a transaction that must have landed. */
export async function landedRecord({ chain }: TestEngine, txHash: string): Promise<TransactionRecord> {
  const [record] = await chain.lookUp([txHash]);
  if (record == null) throw new TypeError(`${txHash} has not landed.`);
  return record;
}

/** Time of the block in which a transaction landed, as ISO text. */
export const blockTimeOf = async (test: TestEngine, txHash: string): Promise<string> =>
  new Date((await landedRecord(test, txHash)).blockTimeMs).toISOString();

/** The wire bytes of a landed transaction. */
export async function wireBytes({ chain }: TestEngine, txHash: string): Promise<Uint8Array> {
  const bytes = await chain.getTransaction(txHash);
  if (bytes === null) throw new TypeError(`${txHash} has not landed.`);
  return bytes;
}

/** Programs and data of the instructions of a landed transaction, in order. */
export async function instructionsOf(
  test: TestEngine,
  txHash: string,
): Promise<readonly { readonly program: string; readonly data: Uint8Array }[]> {
  const { message } = VersionedTransaction.deserialize(await wireBytes(test, txHash));
  return message.compiledInstructions.map(({ programIdIndex, data }) => ({
    program: message.staticAccountKeys[programIdIndex]?.toBase58() ?? '',
    data,
  }));
}

/** Texts of the memo instructions of a landed transaction. */
export const memosOf = async (test: TestEngine, txHash: string): Promise<readonly string[]> =>
  (await instructionsOf(test, txHash))
    .filter(({ program }) => program === MEMO_PROGRAM)
    .map(({ data }) => Buffer.from(data).toString());

/** Texts of all memos that ran, also of those that the multisig ran for its vault, in order. */
export async function memosRun(test: TestEngine, txHash: string): Promise<readonly string[]> {
  const { logs } = await landedRecord(test, txHash);
  return logs.flatMap((line, index) => {
    const found = MEMO_LOG.exec(line);
    if (found === null) return [];
    return [found[1]?.replaceAll('\\"', '"') ?? logs[index + 1]?.slice(LOG.length) ?? ''];
  });
}
