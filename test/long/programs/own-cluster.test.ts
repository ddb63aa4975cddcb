/** A project owner with a mint and two keys, on a test cluster: register, burn, run a batch, serve, lose the node, and the books balance. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { namedSigner, removeDirectories, TOKEN_DECIMALS } from '../../support/chain.js';
import { ask, type ServeProcess, serve } from '../../support/http-serve.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { type TestProject, testProject } from '../../support/registration.js';
import { rpcChain } from '../../support/rpc-chain.js';
import { sendByRpc } from '../../support/send-by-rpc.js';
import { emptyDirectory, flywheel } from '../../support/spawn.js';

const SLOTS = { pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 } as const;
const UNIT = 10n ** BigInt(TOKEN_DECIMALS);

let project: TestProject;
let node: TestNode;
let home: string;
let dataDir: string;
let running: ServeProcess | undefined;

beforeAll(async () => {
  project = await testProject();
  node = await startTestNode({ directory: project.directory, ...SLOTS });
  home = emptyDirectory();
  dataDir = join(home, 'data');
});
afterAll(async () => {
  await running?.end('SIGKILL');
  await closeTestNodes();
  removeDirectories();
});

const run = async (...words: string[]) => {
  const ended = await flywheel({ home, env: { FLYWHEEL_DATA_DIR: dataDir } }, ...words, '--json');
  expect([ended.exit, ended.stderr]).toEqual([0, expect.any(String)]);
  return JSON.parse(ended.stdout);
};

/** Tokens and SOL of who made the mint, as a project owner sends them: with any wallet. */
const send = (to: string, tokens: bigint, lamports: bigint): Promise<void> =>
  sendByRpc(node.url, project.token, { to, tokens, lamports });

const supply = (): Promise<bigint> => project.token.supply(rpcChain([node.url]).chain);

describe('a flywheel on a cluster', () => {
  it('is registered, burns, runs a batch, serves, and outlives its node', async () => {
    const { registration, apiKey } = await run(
      ...['register', '--cluster', node.url, '--mint', project.token.mint, '--owner', project.owner.address],
      ...['--operator-keypair', project.files.operator, '--daily-burn-cap', '100', '--yes'],
    );
    await send(registration.burnWallet, 50n, 10_000_000n);
    await send(registration.vaultAddress, 50n, 10_000_000n);
    const before = await supply();

    const proof = '{"orderId":"A-1"}';
    const burned = await run(
      'burn',
      '--yes',
      '--type',
      'PRODUCT_BUY',
      '--proof',
      proof,
      '--amount',
      '3',
      '--persist-onchain',
    );
    const proofFile = join(home, 'proof.json');
    writeFileSync(proofFile, proof);
    expect(await run('proof', 'verify', '--tx', burned.txHash, '--proof', proofFile)).toMatchObject({
      verified: true,
    });

    const alice = namedSigner('alice').address;
    const file = join(home, 'pipelines.json');
    const actions = [[{ action: 'BURN', amount: 4 }], [{ action: 'AIRDROP', toAddress: alice, amount: 2 }]];
    writeFileSync(
      file,
      JSON.stringify({
        pipelines: actions.map((list, n) => ({ type: 'WATCH_AD', payload: { n }, actions: list })),
      }),
    );
    const { batch, result } = await run('batch', 'run', file, '--keypair', project.files.owner, '--yes');
    expect(result).toMatchObject({ total: 2, totalSuccessful: 2 });
    expect(await run('batch', 'verify', batch.id, '--expect', file)).toMatchObject({ verified: true });

    running = await serve({ home, dataDir });
    const body = { type: 'PRODUCT_BUY', proof: { order: 7 }, burnAmount: 1, persistOnchain: false };
    const answer = await ask(`${running.url}/v1/tokenomics/burn`, apiKey.key, { body, idempotencyKey: 'k' });
    expect(answer.status).toBe(200);

    const port = Number(new URL(node.url).port);
    await node.close(100);
    const during = ask(`${running.url}/v1/tokenomics/burn`, apiKey.key, { body, idempotencyKey: 'k-2' });
    node = await startTestNode({ directory: project.directory, port, ...SLOTS });
    expect((await during).status).toBe(200);

    expect(before - (await supply())).toBe(9n * UNIT);
    expect(await run('vault')).toMatchObject({
      balances: { vault: { tokens: '44' }, burnWallet: { tokens: '45' } },
      today: { burn: { used: '9', cap: '100', left: '91' }, airdrop: { used: '2' } },
      pipelines: { openRentLamports: '0' },
    });
    expect(await run('pending')).toEqual([]);
  }, 180_000);
});
