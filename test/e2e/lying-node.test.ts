/** One node of two that have to agree, and that tells of a past that has not been: nothing is proven by it. */
import { createHash } from 'node:crypto';
import { PublicKey, VersionedTransaction } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import bs58 from 'bs58';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { initiated, pipelinesOf } from '../support/deeds.js';
import { itLong } from '../support/long.js';
import {
  anOperator,
  makeTemplate,
  nodeOf,
  type Operator,
  type OwnNode,
  problemOf,
  type Template,
} from '../support/operator.js';
import { closeStubs, passOn, type RpcCall, stubNode } from '../support/rpc-stub.js';

const REFUSED = 9;
const BASE64 = { encoding: 'base64', maxSupportedTransactionVersion: 0 };
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const SQUADS_PROGRAM = squads.PROGRAM_ID.toBase58();

let template: Template;
afterEach(closeStubs);

interface Found {
  readonly transaction: readonly [string, string];
  readonly meta: Readonly<Record<string, unknown>> & { readonly logMessages: readonly string[] };
}
type Result = Found & readonly { readonly signature: string }[];
type Lie = (result: Result, call: RpcCall) => unknown;

interface Two {
  readonly operator: Operator;
  readonly node: OwnNode;
  /** Runs a command with both nodes, of which the first says this. */
  ask(lie: Lie, ...words: readonly string[]): ReturnType<Operator['run']>;
  close(): Promise<void>;
}

/** An operator with two nodes, the one that lies before the honest one. */
async function two(): Promise<Two> {
  const operator = await anOperator('remote', template);
  const node = await nodeOf(operator.dataDir);
  return {
    operator,
    node,
    ask: async (lie, ...words) => {
      const liar = await stubNode();
      liar.always = passOn(node.url, ({ result, ...rest }: { result: Result }, call) => ({
        ...rest,
        result: lie(result, call),
      }));
      return operator.run(...words, '--rpc-url', liar.url, '--rpc-url', node.url, '--quorum', '2', '--json');
    },
    close: async () => {
      await node.end('SIGTERM');
      await operator.leave();
    },
  };
}

const keysOf = ({ transaction: [wire] }: Found): readonly string[] =>
  VersionedTransaction.deserialize(Buffer.from(wire, 'base64')).message.staticAccountKeys.map(String);

/** Addresses of a batch's accounts: the batch, its proposal, and its transactions. */
function accountsOf(batchIndex: bigint) {
  const multisigPda = new PublicKey(template.made.multisig);
  const [batch] = squads.getTransactionPda({ multisigPda, index: batchIndex });
  const [proposal] = squads.getProposalPda({ multisigPda, transactionIndex: batchIndex });
  const transactions = [1, 2, 3].map((transactionIndex) =>
    squads.getBatchTransactionPda({ multisigPda, batchIndex, transactionIndex })[0].toBase58(),
  );
  return { batch: batch.toBase58(), proposal: proposal.toBase58(), transactions };
}

/** What a node answers when it is asked here. */
async function said<Said>({ url }: OwnNode, method: string, ...params: readonly unknown[]): Promise<Said> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(url, { method: 'POST', body });
  return ((await answer.json()) as { result: Said }).result;
}

const truth: Lie = (result) => result;

let shared: Two;
beforeAll(async () => {
  template = await makeTemplate();
  shared = await two();
});
afterAll(() => shared.close());

describe('a node that has the agreement of no other', () => {
  it('does not hide what a batch did beside what was expected', async () => {
    const { operator, node, ask } = shared;
    const [first, ...others] = pipelinesOf('three');
    operator.write('three.json', [first, ...others]);
    operator.write('first.json', [first]);
    const run = ['batch', 'run', 'three.json', '--keypair', operator.owner, '--yes', '--json'];
    expect((await operator.run(...run)).exit).toBe(0);
    const { batch, proposal, transactions } = accountsOf(1n);
    const [hidden, named] = [transactions.slice(1), [batch, proposal]];
    const past = await Promise.all(named.map((one) => said<Result>(node, 'getSignaturesForAddress', one)));
    const landed = [...new Set(past.flat().map(({ signature }) => signature))];
    const isNamed = (found: Found): boolean => hidden.some((key) => keysOf(found).includes(key));
    const whole = await Promise.all(landed.map((one) => said<Found>(node, 'getTransaction', one, BASE64)));
    const unseen = new Set(landed.filter((_, at) => isNamed(whole[at] as Found)));
    expect(unseen.size).toBeGreaterThan(0);
    const hiding: Lie = (result, { method }) =>
      method === 'getSignaturesForAddress'
        ? result.filter(({ signature }) => !unseen.has(signature))
        : result;
    const verify = ['batch', 'verify', '--batch-index', '1', '--expect'];
    const ended = await ask(hiding, ...verify, 'first.json');
    expect([ended.exit, problemOf(ended).error]).toEqual([REFUSED, 'ERR_NOT_VERIFIED']);
    expect((await ask(hiding, ...verify, 'three.json')).exit).toBe(0);
  });

  itLong('does not let a batch that waits have been executed', async () => {
    const { operator, ask } = shared;
    await initiated(operator, 'waits');
    const { batch, transactions } = accountsOf(2n);
    const data = bs58.encode(
      Uint8Array.from(squads.generated.batchExecuteTransactionInstructionDiscriminator),
    );
    const inventing: Lie = (result, { method }) => {
      if (method !== 'getTransaction') return result;
      const at = keysOf(result).length;
      const loadedAddresses = { writable: [batch, ...transactions], readonly: [SQUADS_PROGRAM] };
      const instructions = transactions.map((_, index) => ({
        ...{ programIdIndex: at + 4, accounts: [at, at, at, at, at + 1 + index], data },
      }));
      const meta = { ...result.meta, loadedAddresses, innerInstructions: [{ index: 0, instructions }] };
      return { ...result, meta };
    };
    const verify = ['batch', 'verify', '--batch-index', '2', '--expect', 'waits.json'];
    expect((await ask(truth, ...verify)).exit).toBe(REFUSED);
    const ended = await ask(inventing, ...verify);
    expect([ended.exit, problemOf(ended).message]).toEqual([
      REFUSED,
      expect.stringContaining('disagree about'),
    ]);
  });

  itLong('does not put the hash of a proof where it is not', async () => {
    const { operator, ask } = shared;
    const proof = { orderId: 'A-1' };
    const hash = createHash('sha256').update(JSON.stringify(proof)).digest('hex');
    operator.write('proof.json', proof);
    const burn = ['burn', '--type', 'WATCH_AD', '--proof', '{"other":1}', '--amount', '1', '--yes', '--json'];
    const { txHash } = JSON.parse((await operator.run(...burn)).stdout);
    const text = JSON.stringify({ type: 'WATCH_AD', hash });
    const logged = [
      `Program ${MEMO_PROGRAM} invoke [1]`,
      `Program log: Memo (len ${text.length}): ${JSON.stringify(text)}`,
      `Program ${MEMO_PROGRAM} success`,
    ];
    const adding: Lie = (result, { method }) =>
      method === 'getTransaction'
        ? { ...result, meta: { ...result.meta, logMessages: [...result.meta.logMessages, ...logged] } }
        : result;
    const verify = ['proof', 'verify', '--tx', txHash, '--proof', 'proof.json'];
    const honest = await ask(truth, ...verify);
    expect(problemOf(honest).error).toBe('ERR_INVALID_PROOF');
    const ended = await ask(adding, ...verify);
    expect([ended.exit, problemOf(ended).message]).toEqual([
      REFUSED,
      expect.stringContaining('disagree about'),
    ]);
  });
});
