/** The costs that the program reports equal the lamports that operator and vault paid. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, Keypair, LAMPORTS_PER_SOL, PublicKey } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { emptyDirectory, type Spawned } from '../support/spawn.js';
import { startNodeBeside } from '../test-cluster/node.js';
import { anOperator, gateOf } from './operator.js';

const PIPELINES = 3;
const GIFT = 900_000;

interface Vault {
  readonly balances: Readonly<Record<'vault' | 'operator', { readonly lamports: string }>>;
  readonly pipelines: { readonly lasts: string };
}

class Place {
  readonly home: string;
  readonly dataDir: string;

  constructor(home: string, dataDir: string) {
    this.home = home;
    this.dataDir = dataDir;
  }

  run(...words: readonly string[]): Promise<Spawned> {
    return flywheelHere({ home: this.home, env: { FLYWHEEL_DATA_DIR: this.dataDir } }, ...words);
  }

  async json<Value>(...words: readonly string[]): Promise<Value> {
    const { exit, stdout, stderr } = await this.run(...words, '--json');
    expect([exit, stderr.includes('"error"')]).toEqual([0, false]);
    return JSON.parse(stdout) as Value;
  }

  async held(): Promise<number> {
    const { balances } = await this.json<Vault>('vault');
    return Number(balances.vault.lamports) + Number(balances.operator.lamports);
  }
}

const sol = (lamports: number): string => String(lamports / LAMPORTS_PER_SOL);

/**
 * Runs a batch that opens token accounts of recipients. @param gifts - lamports that others sent to its addresses beforehand; a
 * stranger then gets its rent.
 */
async function expectTrueCosts(place: Place, keypair: string, gifts?: number): Promise<void> {
  const airdrops = Array.from({ length: PIPELINES }, (_, index) => ({
    type: 'WATCH_AD',
    payload: { index },
    actions: [{ action: 'AIRDROP', toAddress: Keypair.generate().publicKey.toBase58(), amount: 1 }],
  }));
  writeFileSync(join(place.home, 'airdrops.json'), JSON.stringify(airdrops));
  const before = await place.held();
  const { pipelines } = await place.json<Vault>('vault');
  const { foreseen } = await place.json<{ foreseen: { costs: Record<string, string> } }>(
    ...['batch', 'run', 'airdrops.json', '--dry-run'],
  );
  const words = ['batch', 'run', 'airdrops.json', '--keypair', keypair, '--yes', '--output', 'human'];
  const { stderr } = await place.run(...words);
  const paid = before - (await place.held());
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(`Cost of the batch: ${sol(paid)} SOL`);

  const { total } = await place.json<{ total: Record<string, string> }>('report');
  const { burnWalletLamports, operatorLamports, vaultLamports, costLamports } = total;
  expect([Number(costLamports), burnWalletLamports]).toEqual([paid, '0']);
  expect(vaultLamports).toBe(foreseen.costs['vaultRentLamports']);
  // The rent of the batch may come back; each pipeline's other rent does not.
  const lostRent = gifts === undefined ? 0 : Number(foreseen.costs['rentPaidLamports']) - gifts;
  const fees = Number(operatorLamports) - lostRent;
  expect(fees).toBeGreaterThan(0);
  expect(fees).toBeLessThanOrEqual(Number(foreseen.costs['feeLamports']));
  expect(Number(pipelines.lasts)).toBeLessThanOrEqual(before / ((fees + Number(vaultLamports)) / PIPELINES));
  const csv = (await place.run('report', '--output', 'csv')).stdout.trim().split('\n').at(-1) ?? '';
  const cells = [burnWalletLamports, operatorLamports, vaultLamports, costLamports];
  expect(csv.split(',').slice(-cells.length)).toEqual(cells);
  await place.run('report', '--html', 'report.html', '--force');
  expect(readFileSync(join(place.home, 'report.html'), 'utf8')).toContain(`<dd>${sol(paid)} SOL</dd>`);
}

it('on the embedded ledger, and on a cluster whose multisig gives the rent to somebody else', async () => {
  const home = emptyDirectory();
  const place = new Place(home, join(home, 'data'));
  const made = await place.json<{ mintAddress: string; owner: { address: string; keypair: string } }>(
    ...['local', 'init', '--vault-tokens', '100'],
  );
  await expectTrueCosts(place, made.owner.keypair);

  const node = await startNodeBeside(place.dataDir);
  try {
    const connection = new Connection(node.url, 'confirmed');
    const [operator, creator, stranger] = [Keypair.generate(), Keypair.generate(), Keypair.generate()];
    for (const { publicKey } of [operator, creator, stranger])
      await connection.confirmTransaction(await connection.requestAirdrop(publicKey, 10 * LAMPORTS_PER_SOL));
    const [programConfig] = squads.getProgramConfigPda({});
    const { treasury } = await squads.accounts.ProgramConfig.fromAccountAddress(connection, programConfig);
    const [multisigPda] = squads.getMultisigPda({ createKey: creator.publicKey });
    const permissions = squads.types.Permissions.all();
    const signature = await squads.rpc.multisigCreateV2({
      ...{ connection, treasury, creator, multisigPda, createKey: creator },
      ...{ configAuthority: null, threshold: 2, timeLock: 0, rentCollector: stranger.publicKey },
      members: [new PublicKey(made.owner.address), operator.publicKey].map((key) => ({ key, permissions })),
    });
    await connection.confirmTransaction(signature);
    const cluster = new Place(home, join(home, 'cluster'));
    writeFileSync(join(home, 'operator.json'), JSON.stringify([...operator.secretKey]), { mode: 0o600 });
    const { registration } = await cluster.json<{ registration: { vaultAddress: string } }>(
      ...['register', '--cluster', node.url, '--mint', made.mintAddress, '--owner', made.owner.address],
      ...['--operator-keypair', 'operator.json', '--multisig', multisigPda.toBase58(), '--yes'],
    );
    const fund = ['local', 'fund', '--to', registration.vaultAddress, '--tokens', '10', '--sol', '5'];
    await place.json(...fund);
    // Sends SOL to the future addresses of the batch.
    const first = { multisigPda, index: 1n, transactionIndex: 1n };
    const addresses = [squads.getTransactionPda(first)[0], squads.getProposalPda(first)[0]];
    for (const address of addresses)
      await connection.confirmTransaction(await connection.requestAirdrop(address, GIFT));
    await expectTrueCosts(cluster, made.owner.keypair, addresses.length * GIFT);
  } finally {
    await node.close();
  }
});

it('of a token with a transfer fee are told with what recipients received', async () => {
  const operator = await anOperator('remote', [], { pinned: false });
  const report = () => operator.run('report', '--output', 'human');
  const less = /airdropped .*\n +Recipients received less: the token charges a fee on each\s+transfer\./;
  const burn = ['burn', '--type', 'WATCH_AD', '--proof', '{"fee":1}', '--amount', '1'];
  expect((await operator.run(...burn)).exit).toBe(0);
  expect((await report()).stdout).not.toMatch(less);
  gateOf(operator).fate = ({ path }) =>
    path.includes('/report')
      ? { alter: ({ status, body }) => ({ status, body: { ...(body as object), chargesTransferFee: true } }) }
      : 'pass';
  expect((await report()).stdout).toMatch(less);
  await operator.leave();
});
