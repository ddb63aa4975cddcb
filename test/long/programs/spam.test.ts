/**
 * Others name a project's accounts in thousands of transactions: the check of its store still finds it complete or behind, and no
 * command reads more than a few hundred of them.
 */
import { createHash, randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { Keypair, PublicKey, SystemProgram, Transaction } from '@solana/web3.js';
import bs58 from 'bs58';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeLong, isLong, itLong } from '../../support/long.js';
import { rpcResult, statusOf } from '../../support/rpc-call.js';
import { closeStubs, passOn, type RpcCall, result, type StubNode, stubNode } from '../../support/rpc-stub.js';
import { emptyDirectory, flywheel, problemOf, type Spawned } from '../../support/spawn.js';
import { projectOnCluster } from '../../test-cluster/directory.js';

const LIST = 'getSignaturesForAddress';
const READ = 'getTransaction';
/** The most transactions of one check. */
const MAX_READ = 500;

/** Of a transaction that has moved no tokens. */
const META = {
  ...{ fee: 5_000, innerInstructions: [], loadedAddresses: { writable: [], readonly: [] } },
  ...{ preTokenBalances: [], postTokenBalances: [], logMessages: [] },
};

interface Row {
  readonly signature: string;
  readonly slot: number;
  readonly err?: object;
}

const { test, node, dataDir: whole, close } = await projectOnCluster({ slotMs: 50 });
/** A copy of the data directory from before its last burn. */
const older = emptyDirectory();
/** The first burn that the copy lacks, and how many it lacks. */
let lost: string;
let unknown = 0;

beforeAll(async () => {
  await burned(whole);
  cpSync(whole, older, { recursive: true });
  unknown = 0;
  lost = await burned(whole);
}, 60_000);
afterEach(closeStubs);
afterAll(close);

const burn = (dataDir: string, ...words: readonly string[]): Promise<Spawned> =>
  flywheel(
    {
      home: emptyDirectory(),
      env: { FLYWHEEL_DATA_DIR: dataDir, FLYWHEEL_API_KEY: test.project.key.reveal() },
    },
    ...['burn', '--type', 'PRODUCT_BUY', '--proof', '{"a":1}', '--amount', '1', '--yes', '--json', ...words],
  );

async function burned(dataDir: string, ...words: readonly string[]): Promise<string> {
  const { exit, stdout, stderr } = await burn(dataDir, ...words);
  expect([exit, stderr]).toEqual([0, expect.not.stringContaining('"error"')]);
  unknown += 1;
  return JSON.parse(stdout).txHash;
}

const copyOf = (dataDir: string): string => {
  const copy = join(emptyDirectory(), 'data');
  cpSync(dataDir, copy, { recursive: true });
  return copy;
};

/** Signatures without a transaction. */
const madeUp = (slot: number, rows: number): readonly Row[] =>
  Array.from({ length: rows }, () => ({ signature: bs58.encode(randomBytes(64)), slot }));

/** Transactions signed by another wallet. */
function signed(slot: number, rows: number): readonly (Row & { readonly wire: string })[] {
  const stranger = Keypair.generate();
  return Array.from({ length: rows }, (_, at) => {
    const transaction = new Transaction({
      feePayer: stranger.publicKey,
      blockhash: new PublicKey(createHash('sha256').update(String(at)).digest()).toBase58(),
      lastValidBlockHeight: 1,
    }).add(
      SystemProgram.transfer({
        fromPubkey: stranger.publicKey,
        toPubkey: new PublicKey(test.project.registration.burnWallet),
        lamports: 1,
      }),
    );
    transaction.sign(stranger);
    const wire = transaction.serialize();
    return {
      signature: bs58.encode(transaction.signature ?? new Uint8Array()),
      slot,
      wire: wire.toString('base64'),
    };
  });
}

interface Spam {
  readonly rows: readonly (Row & { readonly wire?: string })[];
  /** The transaction before which they landed. @default after all */
  readonly before?: string;
}

type Asked = readonly [signatures: readonly string[]];

/** Those of spam are final. */
function withStatuses(
  answer: { readonly result: { readonly value: readonly unknown[] } },
  wires: ReadonlyMap<string, unknown>,
  [signatures]: Asked,
) {
  const landed = { slot: 1, confirmations: null, err: null, status: { Ok: null } };
  const final = { ...landed, confirmationStatus: 'finalized' };
  const value = answer.result.value.map((told, at) => (wires.has(signatures[at] ?? '') ? final : told));
  return { ...answer, result: { ...answer.result, value } };
}

/** A node that lists spam for the project's accounts, and for its signers if the spam names them too. */
async function spammed({ rows, before }: Spam, namesSigners: boolean): Promise<StubNode> {
  const stub = await stubNode();
  const { burnWallet, operator } = test.project.registration;
  const wires = new Map(rows.map(({ signature, wire }) => [signature, wire]));
  const spam = rows.map(({ signature, slot, err = null }) => ({
    ...{ signature, slot, err, memo: null, blockTime: null },
  }));
  const honest = passOn(node.url, (answer, { method, params }) =>
    method === 'getSignatureStatuses' ? withStatuses(answer, wires, params as Asked) : answer,
  );
  const lists = new Map<string, readonly Row[]>();
  stub.always = async (response, call) => {
    const { method, params } = call as RpcCall & {
      params: readonly [string, { limit: number; before?: string }];
    };
    const [first, terms] = params;
    if (method === READ && wires.has(first)) {
      const wire = wires.get(first);
      const found = wire && { slot: 1, blockTime: null, meta: META, transaction: [wire, 'base64'] };
      return result(found ?? null)(response, call);
    }
    if (method !== LIST || (!namesSigners && [burnWallet, operator].includes(first as never)))
      return honest(response, call);
    const true_ =
      lists.get(first) ?? (await rpcResult<Row[]>(node.url, LIST, first, { commitment: 'confirmed' }));
    lists.set(first, true_);
    const at = before === undefined ? 0 : true_.findIndex(({ signature }) => signature === before) + 1;
    const all = [...true_.slice(0, at), ...spam, ...true_.slice(at)];
    const from =
      terms.before === undefined ? 0 : all.findIndex(({ signature }) => signature === terms.before) + 1;
    return result(all.slice(from, from + terms.limit))(response, call);
  };
  return stub;
}

const count = ({ calls }: StubNode, name: string): number =>
  calls.filter(({ method }) => method === name).length;

const slotNow = (): Promise<number> => rpcResult<number>(node.url, 'getSlot');

describeLong('transactions that name the accounts of a project, and not its signers', () => {
  it('are not read by a command whose store is whole', async () => {
    const stub = await spammed({ rows: madeUp(await slotNow(), isLong ? 5_000 : 1_500) }, false);
    await burned(whole, '--rpc-url', stub.url);
    expect(count(stub, READ)).toBe(0);
    const listed = count(stub, LIST);
    expect(listed).toBeLessThan(20);
    // Checked transactions are not listed again.
    await burned(whole, '--rpc-url', stub.url);
    expect(count(stub, LIST) - listed).toBeLessThan(5);
    expect(count(stub, READ)).toBe(0);
  });

  it('hide no burn of which the store does not know, however many they are', async () => {
    const failed = { err: { InstructionError: [0, { Custom: 1 }] } };
    const rows = madeUp(await slotNow(), isLong ? 21_000 : 3_000).map((row) => ({ ...row, ...failed }));
    const stub = await spammed({ rows }, false);
    const refused = await burn(copyOf(older), '--rpc-url', stub.url);
    expect([refused.exit, problemOf(refused).error]).toEqual([6, 'ERR_STORE_BEHIND']);
    expect(count(stub, READ)).toBeLessThan(10);
  });
});

describe('transactions that name the signers of a project too', () => {
  itLong('are read a few hundred at a time, and then a store that is whole is written', async () => {
    const stub = await spammed({ rows: signed(await slotNow(), 520) }, true);
    const refused = await burn(whole, '--rpc-url', stub.url);
    expect([refused.exit, problemOf(refused).error]).toEqual([6, 'ERR_UNAVAILABLE']);
    // Its own are read too.
    expect(count(stub, READ)).toBeLessThan(MAX_READ + 10);
    await burned(whole, '--rpc-url', stub.url);
    expect(count(stub, READ)).toBeLessThan(530);
  });

  it('hide no burn of which the store does not know', async () => {
    const dataDir = copyOf(older);
    const landed = await statusOf(node.url, lost);
    const rows = signed(landed?.slot ?? 0, 520);
    const stub = await spammed({ rows, before: lost }, true);
    const refused = await burn(dataDir, '--rpc-url', stub.url);
    expect([refused.exit, problemOf(refused).error]).toEqual([6, 'ERR_UNAVAILABLE']);
    expect(count(stub, READ)).toBe(MAX_READ);
    const words = ['db', 'accept-gap', '--yes', '--expect', String(unknown), '--rpc-url', stub.url, '--json'];
    const found = await flywheel({ home: emptyDirectory(), env: { FLYWHEEL_DATA_DIR: dataDir } }, ...words);
    expect([found.exit, found.stderr]).toEqual([0, '']);
    const { gap } = JSON.parse(found.stdout) as { gap: { lost: { txHash: string }[] } };
    expect(gap.lost.map(({ txHash }) => txHash)).toContain(lost);
    expect(count(stub, READ)).toBeLessThan(530);
  });
});
