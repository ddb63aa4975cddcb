import { createHash } from 'node:crypto';
import { PublicKey, VersionedTransaction } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { closeStubs, passOn, type RpcCall, stubNode } from '../support/rpc-stub.js';
import { startNodeBeside, type TestNode } from '../test-cluster/node.js';
import { pipelinesOf } from './deeds.js';
import { anOperator, expectProblem } from './operator.js';

const REFUSED = 9;
const FAILED = 5;
const BASE64 = { encoding: 'base64', maxSupportedTransactionVersion: 0 };
afterEach(closeStubs);

interface Found {
  readonly transaction: readonly [string, string];
  readonly meta: Readonly<Record<string, unknown>> & { readonly logMessages: readonly string[] };
}
type Result = Found & readonly { readonly signature: string; readonly memo: string | null }[];
type Lie = (result: Result, call: RpcCall) => unknown;

async function two() {
  const operator = await anOperator('remote');
  const node = await startNodeBeside(operator.dataDir);
  return {
    operator,
    node,
    /** Runs a command with both nodes; the first one tells this lie. */
    ask: async (lie: Lie, ...words: readonly string[]) => {
      const liar = await stubNode();
      liar.always = passOn(node.url, ({ result, ...rest }: { result: Result }, call) => ({
        ...rest,
        result: lie(result, call),
      }));
      return operator.run(...words, '--rpc-url', liar.url, '--rpc-url', node.url, '--quorum', '2', '--json');
    },
    close: async () => {
      await node.close();
      await operator.leave();
    },
  };
}

const keysOf = ({ transaction: [wire] }: Found): readonly string[] =>
  VersionedTransaction.deserialize(Buffer.from(wire, 'base64')).message.staticAccountKeys.map(String);

function accountsOf(batchIndex: bigint) {
  const multisigPda = new PublicKey(shared.operator.template.made.multisig);
  const [batch] = squads.getTransactionPda({ multisigPda, index: batchIndex });
  const [proposal] = squads.getProposalPda({ multisigPda, transactionIndex: batchIndex });
  const transactions = [1, 2, 3].map((transactionIndex) =>
    squads.getBatchTransactionPda({ multisigPda, batchIndex, transactionIndex })[0].toBase58(),
  );
  return { batch: batch.toBase58(), proposal: proposal.toBase58(), transactions };
}

async function said<Said>({ url }: TestNode, method: string, ...params: readonly unknown[]): Promise<Said> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(url, { method: 'POST', body });
  return ((await answer.json()) as { result: Said }).result;
}

let shared: Awaited<ReturnType<typeof two>>;
beforeAll(async () => {
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
    expectProblem(await ask(hiding, ...verify, 'first.json'), REFUSED, { error: 'ERR_NOT_VERIFIED' });
    expect((await ask(hiding, ...verify, 'three.json')).exit).toBe(0);
  });

  it('gives no transaction the proof of a burn that failed', async () => {
    const proof = { invented: true };
    const hash = createHash('sha256').update(JSON.stringify(proof)).digest('hex');
    const text = JSON.stringify({ type: 'WATCH_AD', hash });
    const inventing: Lie = (result, { method }) =>
      method === 'getSignaturesForAddress'
        ? result.map((one) => ({ ...one, memo: one.memo ?? text }))
        : result;
    const words = ['burn', '--type', 'WATCH_AD', '--proof', JSON.stringify(proof), '--persist-onchain'];
    const failed = await shared.ask(inventing, ...words, '--amount', '999999999');
    expectProblem(failed, FAILED, { error: 'ERR_BURN_TOKENOMICS_FAILED' });
  });
});
