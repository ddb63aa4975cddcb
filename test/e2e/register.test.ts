/** `flywheel register` as a program on a test cluster: costs, results, refusals and kills. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AuthorityType,
  createSetAuthorityInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestToken } from '../support/chain.js';
import { faultEnvironment } from '../support/faults.js';
import { flywheelHere } from '../support/flywheel-here.js';
import { isLong, itLong, sampleOf } from '../support/long.js';
import {
  SQUADS_FEE,
  SQUADS_TREASURY,
  type TestProject,
  testProject,
  type Wallet,
} from '../support/registration.js';
import { rpcResult } from '../support/rpc-call.js';
import { LOOP, signingProgram } from '../support/signing-program.js';
import { BIN, emptyDirectory, problemOf, type Spawned } from '../support/spawn.js';
import { rawSqlite } from '../support/store.js';
import { closeTestNodes, startTestNode, type TestNode, type TestNodeOptions } from '../test-cluster/node.js';
import { onTerminal } from './terminal.js';
import { landByTreasury, TREASURY } from './treasury.js';

const SLOTS = { pace: 'clock', slotMs: 10, confirmedAfter: 1, finalizedAfter: 4 } as const;
/** Offset of the owner in a token account. */
const OWNER_AT = 32;
/** Rent of two token accounts and fees of two signatures, in lamports. */
const ACCOUNTS_AND_FEES = 2n * 2_039_280n + 10_000n;
/** More than a registration has kill points. */
const MAX_POINTS = 160;
const KILLS = isLong ? MAX_POINTS : 2;

interface Registered {
  readonly registration: { mintAddress: string; multisig: string; vaultAddress: string; burnWallet: string };
  readonly apiKey: { file: string } | null;
  readonly txHash: string | null;
}

let project: TestProject;
let node: TestNode;
let home: string;
let dataDir: string;
let token: TestToken;
let givenUp: TestToken[];
/** A finished registration of the first token, with the output before and after. */
let shop: {
  readonly dataDir: string;
  readonly planned: ReturnType<typeof JSON.parse>;
  readonly paid: bigint;
  readonly stderr: string;
  readonly done: Registered;
};

beforeAll(async () => {
  const names = ['given up', 'given up too'];
  project = await testProject({ lamports: 5_000_000_000n, others: KILLS, names });
  givenUp = [...project.tokens];
  node = await startTestNode({ directory: project.directory, ...SLOTS });
  [home, token] = [emptyDirectory(), project.token];
  dataDir = join(home, 'data');
  const planned = JSON.parse((await run(...words('--dry-run'))).stdout);
  expect(existsSync(dataDir)).toBe(false);
  const before = await lamports(project.operator.address);
  const { stdout, stderr } = await register('--daily-burn', '50', '--symbol', 'SHOP');
  const paid = before - (await lamports(project.operator.address));
  shop = { dataDir, planned, paid, stderr, done: JSON.parse(stdout) };
});
beforeEach(() => {
  node.faults.set([]);
  [home, token] = [emptyDirectory(), project.token];
  dataDir = join(home, 'data');
});
afterAll(async () => {
  await closeTestNodes();
});

const run = (...words: string[]) =>
  flywheelHere({ home, env: { FLYWHEEL_DATA_DIR: dataDir } }, ...words, '--json');

const words = (...more: string[]): string[] => [
  ...['register', '--cluster', node.url, '--mint', token.mint],
  ...['--owner', project.owner.address, '--operator-keypair', project.files.operator],
  ...more,
];
const register = (...more: string[]) => run(...words('--yes', ...more));

const failure = (ended: Spawned) => ({ exit: ended.exit, ...problemOf(ended) });

const lamports = async (of: string): Promise<bigint> =>
  BigInt((await rpcResult<{ value: number }>(node.url, 'getBalance', of)).value);
async function accountOf(of: string): Promise<Buffer> {
  const terms = { encoding: 'base64' };
  const { value } = await rpcResult<{ value: { data: [string] } | null }>(
    node.url,
    'getAccountInfo',
    of,
    terms,
  );
  return Buffer.from(value?.data[0] ?? '', 'base64');
}
const tokenAccount = (wallet: string): string =>
  getAssociatedTokenAddressSync(new PublicKey(token.mint), new PublicKey(wallet), true).toBase58();

const pinned = () => {
  const [row] = rawSqlite(join(dataDir, 'store.db'), 'select facts from projects');
  return JSON.parse(String(row?.['facts'])) as Record<string, string>;
};
const cluster = () =>
  (JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8')) as { cluster: Record<string, object> })
    .cluster;

const giveUpMinting = (): Promise<void> => {
  const mint = new PublicKey(token.mint);
  return landByTreasury(
    node.url,
    createSetAuthorityInstruction(mint, TREASURY, AuthorityType.MintTokens, null),
  );
};

/** Types the command on a terminal and confirms after `meanwhile` has run. */
function registerAfter(meanwhile: () => Promise<unknown>, answer = 'register') {
  const line = ['node', BIN, ...words()].join(' ');
  return onTerminal(home, line, { FLYWHEEL_DATA_DIR: dataDir }, async () => {
    await meanwhile();
    return answer;
  });
}

describe('flywheel register', () => {
  it('shows what it will do, then does exactly that, and commands work on the cluster', async () => {
    dataDir = shop.dataDir;
    const { planned, done, stderr } = shop;
    expect(planned).toMatchObject({
      dryRun: true,
      state: 'new',
      costs: { squadsFeeLamports: String(SQUADS_FEE), squadsTreasury: SQUADS_TREASURY, missingLamports: '0' },
    });
    // The registration makes its own keys later.
    const { multisig: shown, vault, burnWallet, steps } = planned;
    const addresses = [shown, vault, burnWallet, ...steps.map((step: { address: unknown }) => step.address)];
    expect(addresses).toEqual(addresses.map(() => null));
    expect(stderr).toContain('Registration of SHOP');
    for (const line of stderr.trim().split('\n')) expect(Object.keys(JSON.parse(line))).toEqual(['notice']);
    const { registration, apiKey, txHash } = done;
    expect(shop.paid).toBe(
      BigInt(planned.costs.totalLamports) - BigInt(planned.costs.maxPriorityFeeLamports),
    );
    expect(await lamports(SQUADS_TREASURY)).toBe(1_000_000_000n + SQUADS_FEE);
    const [multisig] = squads.accounts.Multisig.deserialize(await accountOf(registration.multisig));
    expect(multisig).toMatchObject({ threshold: 2, timeLock: 0 });
    expect(multisig.rentCollector?.toBase58()).toBe(project.operator.address);
    expect(
      new Set(multisig.members.map(({ key, permissions }) => [key.toBase58(), permissions.mask].join())),
    ).toEqual(new Set([`${project.owner.address},7`, `${project.operator.address},7`]));
    for (const wallet of [registration.vaultAddress, registration.burnWallet]) {
      const data = await accountOf(tokenAccount(wallet));
      expect(new PublicKey(data.subarray(OWNER_AT, OWNER_AT + 32)).toBase58()).toBe(wallet);
    }
    expect(txHash).toMatch(/^\w{80,}$/);
    // Operator and burn wallet; the key that created the multisig is deleted.
    expect(readdirSync(join(dataDir, 'keys')).sort()).toEqual(
      [`${project.operator.address}.json`, `${registration.burnWallet}.json`].sort(),
    );
    for (const file of ['local.json', 'api-key']) expect(statSync(join(dataDir, file)).mode & 0o077).toBe(0);
    expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
    const file = join(dataDir, 'api-key');
    expect(apiKey).toMatchObject({ file, key: readFileSync(file, 'utf8').trim() });

    const status = JSON.parse((await run('local', 'status')).stdout);
    expect(status).toMatchObject({
      symbol: 'SHOP',
      multisig: registration.multisig,
      owner: { address: project.owner.address, keypair: null },
      dailyLimits: { burn: '50', airdrop: null },
    });
    expect(JSON.parse((await run('vault')).stdout)).toMatchObject({
      cluster: { name: null },
      today: { burn: { used: '0', cap: '50', left: '50' } },
      balances: { vault: { tokens: '0' }, operator: { lamports: expect.stringMatching(/^\d+$/) } },
      pipelines: { atOnce: expect.any(Number) },
    });
    for (const env of [{}, { FLYWHEEL_RPC_URL: node.url }]) {
      const doctor = await flywheelHere(
        { home, env: { FLYWHEEL_DATA_DIR: dataDir, ...env } },
        'doctor',
        '--json',
      );
      const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; ok: boolean }[] };
      expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['rpc', 'chain clock']));
      // The new vault has no tokens.
      const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
      expect([doctor.exit, failed]).toEqual([5, ['funds']]);
    }
    const burn = { type: 'PRODUCT_BUY', proof: { a: 1 }, burnAmount: 1, persistOnchain: false };
    writeFileSync(join(home, 'burns.json'), JSON.stringify([burn]));
    for (const unasked of [
      ['burn-batch', join(home, 'burns.json')],
      ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"a":1}', '--amount', '1'],
    ])
      expect([unasked[0], failure(await run(...unasked))]).toMatchObject([
        unasked[0],
        { exit: 2, message: expect.stringContaining('--yes') },
      ]);
    const settings = JSON.parse((await run('whoami')).stdout);
    expect(settings.rpcUrl).toEqual({ value: node.url, source: 'data directory' });
    expect(failure(await run('local', 'reset', '--yes'))).toMatchObject({ exit: 2, error: 'ERR_USAGE' });
    expect(failure(await run('local', 'init'))).toMatchObject({
      error: 'ERR_LOCAL_ALREADY_EXISTS',
      hint: expect.not.stringContaining('local reset'),
    });

    const held = await lamports(project.operator.address);
    const again = await flywheelHere({ home }, ...words('--yes', '--data-dir', dataDir, '--output', 'human'));
    expect(again.stdout).toContain(`  flywheel vault --local --data-dir ${dataDir}\n`);
    expect(again.stdout).toContain(registration.multisig);
    expect(failure(await register('--vault-index', '1'))).toMatchObject({
      error: 'ERR_LOCAL_ALREADY_EXISTS',
      message: expect.stringContaining('with another vault index'),
    });
    expect(await lamports(project.operator.address)).toBe(held);
    const unused = await register('--daily-burn', '7', '--scope', 'burn');
    expect([unused.exit, unused.stderr]).toEqual([
      ...[0, expect.stringContaining('--daily-burn, --scope are not applied')],
    ]);
    expect(JSON.parse((await run('caps')).stdout).burn.cap).toBe('50');
  });

  itLong.each(['finished', 'new'])(
    'pins nothing that was not shown of a %s one, sends nothing for it, and pins it once it is shown',
    async (state) => {
      token = givenUp.pop() as TestToken;
      if (state === 'finished') expect((await register('--max-priority-fee', '9')).exit).toBe(0);
      const config = join(dataDir, 'local.json');
      const configured = () => existsSync(config) && readFileSync(config, 'utf8');
      const before = [await lamports(SQUADS_TREASURY), configured()];
      const { status, text } = await registerAfter(giveUpMinting);
      const changed = /mint\.mintAuthority\s+was\s+\w+\s+and\s+is\s+none/;
      expect([status, text]).toEqual([9, expect.stringMatching(changed)]);
      expect([await lamports(SQUADS_TREASURY), configured()]).toEqual(before);
      expect((await register()).exit).toBe(0);
      expect(pinned()).toMatchObject({ 'mint.mintAuthority': 'none' });
      expect(cluster()).toMatchObject({
        rpcUrls: [node.url],
        ...(state === 'finished' ? { maxPriorityFee: 9 } : {}),
      });
    },
  );

  it('has an unknown outcome where it was sent and no node answers, and the same command goes on', async () => {
    const taken = await lamports(SQUADS_TREASURY);
    node.faults.set([{ fault: 'unavailable', methods: ['getSignatureStatuses'] }]);
    const sent = await register('--max-wait', '1');
    expect(failure(sent)).toMatchObject({ exit: 7, error: 'ERR_OUTCOME_UNKNOWN' });
    node.faults.set([]);
    expect((await register()).exit).toBe(0);
    expect((await lamports(SQUADS_TREASURY)) - taken).toBe(SQUADS_FEE);
  });

  it('takes a multisig and a burn wallet that are there', async () => {
    const [taken, { registration }] = [await lamports(SQUADS_TREASURY), shop.done];
    const more = ['--multisig', registration.multisig, '--vault-index', '3'];
    const done = await register(...more, '--burn-wallet', project.files.burnWallet);
    expect(done.stderr).toContain('A spending limit');
    const second = JSON.parse(done.stdout) as Registered;
    expect(second.registration).toMatchObject({
      multisig: registration.multisig,
      vaultIndex: 3,
      burnWallet: project.burnWallet.address,
    });
    expect(second.registration.vaultAddress).not.toBe(registration.vaultAddress);
    expect(await lamports(SQUADS_TREASURY)).toBe(taken);
  });

  it('refuses what it cannot serve, and sends nothing', async () => {
    const { registration } = shop.done;
    const held = await lamports(project.operator.address);
    const wrong: readonly (readonly [string, string, readonly string[]])[] = [
      ['ERR_INPUT_INVALID', 'is not a mint', ['--mint', registration.vaultAddress]],
      ['ERR_INPUT_INVALID', 'must be different keys', ['--owner', project.operator.address]],
      ['ERR_INPUT_INVALID', 'which has no key', ['--owner', registration.vaultAddress]],
      ['ERR_INPUT_INVALID', 'decimal', ['--daily-burn', '1.0000001']],
      ['ERR_NOT_VERIFIED', 'No multisig at', ['--multisig', registration.vaultAddress]],
      [
        'ERR_NOT_VERIFIED',
        `${project.burnWallet.address} is not a member; ${project.owner.address} is a third member`,
        ['--multisig', registration.multisig, '--owner', project.burnWallet.address],
      ],
      ['ERR_CHAIN_MISMATCH', 'expected devnet', ['--cluster', 'devnet', '--rpc-url', node.url]],
    ];
    for (const [code, text, more] of sampleOf(wrong, 2)) {
      const refused = failure(await register(...more));
      expect([refused.error, refused.message]).toEqual([code, expect.stringContaining(text)]);
    }
    expect(await lamports(project.operator.address)).toBe(held);
    expect(existsSync(dataDir)).toBe(false);
    expect(failure(await run(...words()))).toMatchObject({ error: 'ERR_USAGE' });
    expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
  });

  it.each(
    sampleOf<readonly [string, NonNullable<TestNodeOptions['faults']>]>(
      [
        [
          'takes it and says nothing',
          [{ fault: 'unanswered', rate: 1, times: 1, methods: ['sendTransaction'] }],
        ],
        ['lets it expire', [{ fault: 'expire', rate: 1, times: 1 }]],
        ['drops what it is sent', [{ fault: 'drop', rate: 1, times: 2 }]],
        ['is late', [{ fault: 'late', rate: 1, slots: 9, times: 3 }]],
      ],
      1,
    ),
  )('pays once on a cluster that %s', async (_what, faults) => {
    node.faults.set(faults);
    const held = await lamports(project.operator.address);
    const taken = await lamports(SQUADS_TREASURY);
    const { registration } = JSON.parse((await register()).stdout) as Registered;
    const rent = await lamports(registration.multisig);
    expect(held - (await lamports(project.operator.address))).toBe(SQUADS_FEE + rent + ACCOUNTS_AND_FEES);
    expect((await lamports(SQUADS_TREASURY)) - taken).toBe(SQUADS_FEE);
  });

  itLong(
    'keeps no key that a program of the user signs with, and asks that program from then on',
    async () => {
      const secret = JSON.parse(readFileSync(project.files.operator, 'utf8')) as number[];
      const program = signingProgram(LOOP, Uint8Array.from(secret)).command;
      const { exit, stdout } = await run(
        ...['register', '--cluster', node.url, '--mint', project.token.mint],
        ...['--owner', project.owner.address, '--yes', '--operator', project.operator.address],
        ...['--operator-signer', program, '--max-priority-fee', '77'],
      );
      expect(exit).toBe(0);
      const { registration } = JSON.parse(stdout) as Registered;
      expect(readdirSync(join(dataDir, 'keys'))).toEqual([`${registration.burnWallet}.json`]);
      expect(JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))).toMatchObject({
        signers: { operator: program },
        cluster: { maxPriorityFee: 77 },
      });
    },
  );

  itLong('says what the operator lacks, and sends nothing', async () => {
    const poor = ['--operator-keypair', project.files.burnWallet];
    expect(failure(await register(...poor))).toMatchObject({
      error: 'ERR_INSUFFICIENT_FUNDS',
      message: expect.stringContaining(`the operator ${project.burnWallet.address} needs`),
    });
    expect(existsSync(join(dataDir, 'local.json'))).toBe(false);
  });

  itLong.each([
    [
      'registered',
      async () => expect((await register()).exit).toBe(0),
      SQUADS_FEE,
      'already registered here',
    ],
    ['set up', async () => expect((await run('local', 'init')).exit).toBe(0), 0n, 'already has a'],
  ] as const)(
    'pays nothing where another flywheel is %s while it asks',
    async (_how, meanwhile, paid, why) => {
      const taken = await lamports(SQUADS_TREASURY);
      const { status, text } = await registerAfter(meanwhile);
      expect([status, text]).toEqual([2, expect.stringContaining(why)]);
      expect((await lamports(SQUADS_TREASURY)) - taken).toBe(paid);
      expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
      const { burnWallet, operator } = JSON.parse((await run('local', 'status')).stdout);
      expect(readdirSync(join(dataDir, 'keys'))).toEqual(
        expect.arrayContaining([`${burnWallet}.json`, `${operator}.json`]),
      );
      expect((await run('batch', 'current')).exit).toBe(0);
    },
  );
});

describe('a registration that is killed', () => {
  const registerAs = ({ file }: Pick<Wallet, 'file'>, env: Record<string, string> = {}) =>
    flywheelHere(
      { home, env: { FLYWHEEL_DATA_DIR: dataDir, ...env } },
      ...['register', '--cluster', node.url, '--mint', token.mint, '--owner', project.owner.address],
      ...['--operator-keypair', file, '--yes', '--json'],
    );
  const killedAt = (point: number): Record<string, string> =>
    faultEnvironment({ signal: 'SIGKILL', traces: true, point }, '');

  it(
    'at each thing by which it leaves a trace, goes on where it was, and pays once',
    async () => {
      const countFile = join(home, 'count');
      const counted = await registerAs(
        { file: project.files.operator },
        { ...killedAt(0), FAULT_COUNT_FILE: countFile },
      );
      expect(counted.exit).toBe(0);
      const count = Number(readFileSync(countFile, 'utf8'));
      expect([count > 30, count < MAX_POINTS]).toEqual([true, true]);
      const points = sampleOf(
        Array.from({ length: count }, (_, index) => index + 1),
        KILLS,
      );
      for (const [index, point] of points.entries()) {
        const operator = project.others[index] as Wallet;
        home = emptyDirectory();
        dataDir = join(home, 'data');
        const [held, taken] = [await lamports(operator.signer.address), await lamports(SQUADS_TREASURY)];
        // The number of chain reads, and so of kill points, varies between runs.
        const killed = await registerAs(operator, killedAt(point));
        if (killed.signal !== 'SIGKILL') expect([point, killed.exit]).toEqual([point, 0]);
        const { exit, stdout, stderr } = await registerAs(operator);
        expect([point, exit, stderr]).toEqual([point, 0, expect.any(String)]);
        const { registration } = JSON.parse(stdout) as Registered;
        expect((await lamports(SQUADS_TREASURY)) - taken).toBe(SQUADS_FEE);
        const rent = await lamports(registration.multisig);
        expect(held - (await lamports(operator.signer.address))).toBe(SQUADS_FEE + rent + ACCOUNTS_AND_FEES);
        expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
        expect(readdirSync(join(dataDir, 'keys'))).toEqual(
          expect.arrayContaining([`${operator.signer.address}.json`, `${registration.burnWallet}.json`]),
        );
      }
      const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim();
      const env = { FLYWHEEL_API_KEY: key, FLYWHEEL_DATA_DIR: dataDir };
      expect((await flywheelHere({ home, env }, 'batch', 'current', '--json')).exit).toBe(0);
    },
    Math.max(300_000, KILLS * 30_000),
  );
});
