/** One node of two that have to agree, and that tells of a past that has not been: nothing is proven by it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MEMO_PROGRAM, SQUADS_PROGRAM } from '../../src/chain/programs.js';
import {
  batchTransactionAddress,
  proposalAddress,
  transactionAddress,
} from '../../src/chain/squads/addresses.js';
import { encodeInstruction } from '../../src/chain/squads/instructions.js';
import { decodeTransaction } from '../../src/chain/transaction/wire.js';
import { address } from '../../src/values/address.js';
import { base58Encode } from '../../src/values/base58.js';
import { proofHash } from '../../src/values/digest.js';
import { initiated, pipelinesOf } from '../support/deeds.js';
import { anOperator, makeTemplate, type Operator, problemOf, type Template } from '../support/operator.js';
import { type RpcNode, startRpcNode } from '../support/rpc-node.js';
import { closeStubs, passOn, type RpcCall, stubNode } from '../support/rpc-stub.js';

const REFUSED = 9;

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
  readonly node: RpcNode;
  /** Runs a command with both nodes, of which the first says this. */
  ask(lie: Lie, ...words: readonly string[]): ReturnType<Operator['run']>;
  close(): Promise<void>;
}

/** An operator with two nodes, the one that lies before the honest one. */
async function two(): Promise<Two> {
  const operator = await anOperator('remote', template);
  const node = await startRpcNode(operator.dataDir);
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
      await node.close();
      await operator.leave();
    },
  };
}

const keysOf = ({ transaction: [wire] }: Found): readonly string[] =>
  decodeTransaction(Buffer.from(wire, 'base64')).message.staticKeys;

/** What a node answers when it is asked here. */
async function said<Said>({ url }: RpcNode, method: string, ...params: readonly unknown[]): Promise<Said> {
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
    const multisig = address(template.made.multisig);
    const hidden = [2, 3].map((number) => batchTransactionAddress(multisig, 1n, number).address);
    const named = [transactionAddress(multisig, 1n), proposalAddress(multisig, 1n)].map((one) => one.address);
    const past = await Promise.all(named.map((one) => said<Result>(node, 'getSignaturesForAddress', one)));
    const landed = [...new Set(past.flat().map(({ signature }) => signature))];
    const isNamed = (found: Found): boolean => hidden.some((key) => keysOf(found).includes(key));
    const whole = await Promise.all(landed.map((one) => said<Found>(node, 'getTransaction', one)));
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

  it('does not let a batch that waits have been executed', async () => {
    const { operator, ask } = shared;
    await initiated(operator, 'waits');
    const multisig = address(template.made.multisig);
    const batch = transactionAddress(multisig, 2n).address;
    const transactions = [1, 2, 3].map((number) => batchTransactionAddress(multisig, 2n, number).address);
    const data = base58Encode(encodeInstruction('batchExecuteTransaction', {}));
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
      expect.stringContaining('do not agree'),
    ]);
  });

  it('does not put the hash of a proof where it is not', async () => {
    const { operator, ask } = shared;
    const proof = { orderId: 'A-1' };
    const hash = proofHash(proof);
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
      expect.stringContaining('do not agree'),
    ]);
  });
});
