/** `flywheel register` as a program, on a test cluster: what it costs, what it leaves, what it refuses, and what cuts it off. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TOKEN_PROGRAM } from '../../src/chain/programs.js';
import { decodeAccount, MULTISIG } from '../../src/chain/squads/layouts/accounts.js';
import { decodeTokenAccount } from '../../src/chain/tokens/accounts.js';
import { associatedTokenAddress } from '../../src/chain/tokens/addresses.js';
import { setAuthority } from '../../src/chain/tokens/instructions.js';
import type { FaultRule } from '../../src/rpc-node/faults/fault-rules.js';
import { type Address, address } from '../../src/values/address.js';
import { removeDirectories, signedWith, treasury } from '../support/chain.js';
import { closeTestNodes, startTestNode, type TestNode } from '../support/local-rpc.js';
import { SQUADS_FEE, SQUADS_TREASURY, type TestProject, testProject } from '../support/registration.js';
import { rpcChain } from '../support/rpc-chain.js';
import { emptyDirectory, flywheel, startFlywheel } from '../support/spawn.js';
import { onTerminal } from '../support/terminal.js';

const SLOTS = { pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 } as const;

/** Signs each line with the keypair file that it is given. */
const SIGNING_PROGRAM = `
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const seed = Buffer.from(JSON.parse(readFileSync(process.argv[2], 'utf8'))).subarray(0, 32);
const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
for await (const line of createInterface({ input: process.stdin }))
  console.log(sign(null, Buffer.from(line, 'base64'), key).toString('base64'));
`;

const BIN = join(process.cwd(), 'bin/flywheel.js');

interface Registered {
  readonly registration: { mintAddress: string; multisig: string; vaultAddress: string; burnWallet: string };
  readonly apiKey: { key: string } | null;
  readonly txHash: string | null;
}

let project: TestProject;
let node: TestNode;
let home: string;
let dataDir: string;

beforeEach(async () => {
  project = await testProject();
  node = await startTestNode({ directory: project.directory, ...SLOTS });
  home = emptyDirectory();
  dataDir = join(home, 'data');
});
afterEach(async () => {
  await closeTestNodes();
  removeDirectories();
});

const run = (...words: string[]) =>
  flywheel({ home, env: { FLYWHEEL_DATA_DIR: dataDir } }, ...words, '--json');

const words = (...more: string[]): string[] => [
  ...['register', '--cluster', node.url, '--mint', project.token.mint],
  ...['--owner', project.owner.address, '--operator-keypair', project.files.operator],
  ...more,
];
const register = (...more: string[]) => run(...words('--yes', ...more));

const failure = ({ exit, stderr }: { exit: number | null; stderr: string }) => {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return { exit, ...(JSON.parse(line) as { error: string; message: string; hint?: string }) };
};

const accounts = (...addresses: string[]) =>
  rpcChain([node.url]).chain.getAccounts(addresses.map((one) => address(one)));
const lamports = async (of: string): Promise<bigint> => (await accounts(of))[0]?.lamports ?? 0n;
const tokenAccount = (wallet: string): Address =>
  associatedTokenAddress(address(wallet), project.token.mint, TOKEN_PROGRAM);

const pinned = () =>
  (JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8')) as { cluster: Record<string, object> })
    .cluster;

/** Nobody can make more of the token from then on, for good. */
async function giveUpMinting(): Promise<void> {
  const { chain, sender } = rpcChain([node.url]);
  const { blockhash } = await chain.latestBlockhash();
  const giveUp = setAuthority({
    ...{ tokenProgram: TOKEN_PROGRAM, account: project.token.mint, type: 'mintTokens' },
    ...{ currentAuthority: treasury.address, newAuthority: null },
  });
  const { bytes } = signedWith(blockhash, [treasury], [giveUp]);
  const outcome = await sender.submitAndConfirm(bytes, { deadlineMs: Number.MAX_SAFE_INTEGER });
  expect(outcome.kind).toBe('landed');
}

/** Typed on a terminal, and agreed to when something has come to pass meanwhile. */
function registerAfter(meanwhile: () => Promise<unknown>, answer = 'register') {
  const line = ['node', BIN, ...words()].join(' ');
  return onTerminal(home, line, { FLYWHEEL_DATA_DIR: dataDir }, async () => {
    await meanwhile();
    return answer;
  });
}

describe('flywheel register', () => {
  it('shows what it will do, then does exactly that, and commands work on the cluster', async () => {
    const planned = JSON.parse((await run(...words('--dry-run'))).stdout);
    expect(planned).toMatchObject({
      dryRun: true,
      state: 'new',
      costs: { squadsFeeLamports: String(SQUADS_FEE), squadsTreasury: SQUADS_TREASURY, missingLamports: '0' },
    });
    expect(existsSync(dataDir)).toBe(false);
    const before = await lamports(project.operator.address);

    const done = await register('--daily-burn-cap', '50', '--symbol', 'SHOP');
    expect(done.stderr).toContain('Registration of SHOP');
    const { registration, apiKey, txHash } = JSON.parse(done.stdout) as Registered;
    expect(before - (await lamports(project.operator.address))).toBe(
      BigInt(planned.costs.totalLamports) - BigInt(planned.costs.maxPriorityFeeLamports),
    );
    expect(await lamports(SQUADS_TREASURY)).toBe(1_000_000_000n + SQUADS_FEE);
    const [multisig, vault, burn] = await accounts(
      registration.multisig,
      tokenAccount(registration.vaultAddress),
      tokenAccount(registration.burnWallet),
    );
    expect(decodeAccount(MULTISIG, multisig?.data ?? new Uint8Array())).toMatchObject({
      threshold: 2,
      timeLockSeconds: 0,
      rentCollector: project.operator.address,
      members: expect.arrayContaining([
        { key: project.owner.address, permissions: 7 },
        { key: project.operator.address, permissions: 7 },
      ]),
    });
    expect(decodeTokenAccount(vault ?? null)?.owner).toBe(registration.vaultAddress);
    expect(decodeTokenAccount(burn ?? null)?.owner).toBe(registration.burnWallet);
    expect(txHash).toMatch(/^\w{80,}$/);
    // Operator and burn wallet; the key that made the multisig is of no more use.
    expect(readdirSync(join(dataDir, 'keys')).sort()).toEqual(
      [`${project.operator.address}.json`, `${registration.burnWallet}.json`].sort(),
    );
    for (const file of ['local.json', 'api-key']) expect(statSync(join(dataDir, file)).mode & 0o077).toBe(0);
    expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
    expect(readFileSync(join(dataDir, 'api-key'), 'utf8').trim()).toBe(apiKey?.key);

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
      balances: { vault: { tokens: '0' }, operator: { lamports: expect.stringMatching(/^8\d{8}$/) } },
      pipelines: { atOnce: expect.any(Number) },
    });
    expect(JSON.parse((await run('doctor')).stdout)).toMatchObject({ ok: true });
    const settings = JSON.parse((await run('whoami')).stdout);
    expect(settings.rpcUrl).toEqual({ value: node.url, source: 'data directory' });
    expect(failure(await run('local', 'reset', '--yes'))).toMatchObject({ exit: 2, error: 'ERR_USAGE' });
    expect(failure(await run('local', 'init'))).toMatchObject({
      error: 'ERR_LOCAL_ALREADY_EXISTS',
      hint: expect.not.stringContaining('local reset'),
    });
  });

  it('does nothing twice: the same command looks again, another one is refused', async () => {
    const first = JSON.parse((await register()).stdout) as Registered;
    const held = await lamports(project.operator.address);
    const again = JSON.parse((await register()).stdout) as Registered;
    expect(again.registration).toEqual(first.registration);
    expect(again).toMatchObject({ apiKey: null, txHash: null });
    expect(await lamports(project.operator.address)).toBe(held);
    expect(failure(await register('--vault-index', '1'))).toMatchObject({
      error: 'ERR_LOCAL_ALREADY_EXISTS',
      message: expect.stringContaining('with another vault index'),
    });
  });

  it('pins what has changed, once it is shown, and keeps how things are done', async () => {
    expect((await register('--max-priority-fee', '9')).exit).toBe(0);
    expect(pinned()).toMatchObject({ facts: { 'mint.mintAuthority': treasury.address } });
    await giveUpMinting();
    expect((await register()).exit).toBe(0);
    expect(pinned()).toMatchObject({
      facts: { 'mint.mintAuthority': 'none' },
      sending: { maxPriorityFee: 9 },
      rpcUrls: [node.url],
    });
  });

  it('shows no address that the registration will not have, agreed to or not', async () => {
    const dryRun = async (...more: string[]) =>
      JSON.parse((await run(...words('--dry-run', ...more))).stdout);
    const plan = await dryRun();
    expect(plan).toMatchObject({ burnWallet: null, multisig: null, vault: null });
    expect(plan.steps.map(({ address }: { address: string | null }) => address)).toEqual([null, null, null]);
    // What is made up anew each time stands nowhere in it.
    expect(await dryRun()).toEqual(plan);
    const declined = () => registerAfter(async () => undefined, 'no');
    const [first, second] = [await declined(), await declined()];
    const addresses = (text: string) => new Set(text.match(/\b[1-9A-HJ-NP-Za-km-z]{32,44}\b/g));
    expect([first.status, addresses(second.text)]).toEqual([130, addresses(first.text)]);
    expect(existsSync(dataDir)).toBe(false);

    const given = await dryRun('--burn-wallet', project.files.burnWallet);
    expect(given).toMatchObject({ burnWallet: project.burnWallet.address, multisig: null });
    expect(given.steps).toMatchObject([
      { address: null },
      { address: null },
      { address: tokenAccount(project.burnWallet.address) },
    ]);
    const { registration } = JSON.parse((await register()).stdout) as Registered;
    const { multisig, vaultAddress, burnWallet } = registration;
    expect(await dryRun()).toMatchObject({ state: 'finished', multisig, vault: vaultAddress, burnWallet });
    dataDir = join(home, 'second');
    const taken = await dryRun('--multisig', multisig);
    expect(taken).toMatchObject({ multisig, vault: vaultAddress, burnWallet: null });
    expect(taken.steps).toMatchObject([
      { address: multisig },
      { address: tokenAccount(vaultAddress) },
      { address: null },
    ]);
  });

  it('leads to what was registered: lines of JSON, the next command, and a question before anything is burned', async () => {
    const json = await register();
    for (const line of json.stderr.trim().split('\n'))
      expect(Object.keys(JSON.parse(line))).toEqual(['notice']);
    const { registration } = JSON.parse(json.stdout) as Registered;
    const place = ['--data-dir', dataDir];
    const human = await flywheel({ home }, ...words('--yes', ...place, '--output', 'human'));
    expect(human.stdout).toContain(`  flywheel vault --local --data-dir ${dataDir}\n`);

    const burns = [{ type: 'PRODUCT_BUY', proof: { n: 1 }, burnAmount: 1, persistOnchain: false }];
    writeFileSync(join(home, 'burns.json'), JSON.stringify(burns));
    const commands = [
      ['burn-batch', 'burns.json'],
      ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"n":2}', '--amount', '1'],
    ];
    for (const command of commands) {
      const line = ['node', BIN, ...command, ...place].map((word) => `'${word}'`).join(' ');
      const declined = await onTerminal(home, line, {}, 'n');
      expect([command, declined.status]).toEqual([command, 130]);
      expect(declined.text).toContain(registration.mintAddress);
      const refused = failure(await flywheel({ home }, ...command, ...place, '--json'));
      expect([command, refused.exit, refused.error]).toEqual([command, 2, 'ERR_USAGE']);
      expect(JSON.parse((await flywheel({ home }, 'pending', ...place, '--json')).stdout)).toEqual([]);
      // The burn wallet holds nothing.
      const agreed = await flywheel({ home }, ...command, ...place, '--yes', '--json');
      expect([command, agreed.exit]).toEqual([command, command[0] === 'burn' ? 5 : 3]);
    }
  });

  it('takes a multisig and a burn wallet that are there', async () => {
    const { registration } = JSON.parse((await register()).stdout) as Registered;
    dataDir = join(home, 'second');
    const more = ['--multisig', registration.multisig, '--vault-index', '3'];
    const done = await register(...more, '--burn-wallet', project.files.burnWallet);
    expect(done.stderr).toContain('a spending limit');
    const second = JSON.parse(done.stdout) as Registered;
    expect(second.registration).toMatchObject({
      multisig: registration.multisig,
      vaultIndex: 3,
      burnWallet: project.burnWallet.address,
    });
    expect(second.registration.vaultAddress).not.toBe(registration.vaultAddress);
    expect(await lamports(SQUADS_TREASURY)).toBe(1_000_000_000n + SQUADS_FEE);
  });

  it('refuses what it cannot serve, and sends nothing', async () => {
    const { registration } = JSON.parse((await register()).stdout) as Registered;
    const held = await lamports(project.operator.address);
    dataDir = join(home, 'second');
    const wrong: readonly (readonly [string, string, readonly string[]])[] = [
      ['ERR_INPUT_INVALID', 'is not a mint', ['--mint', registration.vaultAddress]],
      ['ERR_INPUT_INVALID', 'must be two keys', ['--owner', project.operator.address]],
      ['ERR_INPUT_INVALID', 'nobody can hold a key', ['--owner', registration.vaultAddress]],
      ['ERR_INPUT_INVALID', 'decimal', ['--daily-burn-cap', '1.0000001']],
      ['ERR_NOT_VERIFIED', 'no multisig at', ['--multisig', registration.vaultAddress]],
      [
        'ERR_NOT_VERIFIED',
        `${project.burnWallet.address} is not a member; ${project.owner.address} is a member, beside`,
        ['--multisig', registration.multisig, '--owner', project.burnWallet.address],
      ],
      ['ERR_CHAIN_MISMATCH', 'expected was devnet', ['--cluster', 'devnet', '--rpc-url', node.url]],
    ];
    for (const [code, text, more] of wrong) {
      const refused = failure(await register(...more));
      expect([refused.error, refused.message]).toEqual([code, expect.stringContaining(text)]);
    }
    expect(await lamports(project.operator.address)).toBe(held);
    expect(existsSync(dataDir)).toBe(false);
    expect(failure(await run(...words()))).toMatchObject({ error: 'ERR_USAGE' });
  });

  it.each<[string, readonly FaultRule[]]>([
    ['drops what it is sent', [{ fault: 'drop', rate: 1, times: 2 }]],
    ['lets it expire', [{ fault: 'expire', rate: 1, times: 1 }]],
    ['takes it and says nothing', [{ fault: 'unanswered', rate: 1, times: 1, methods: ['sendTransaction'] }]],
    ['is late', [{ fault: 'late', rate: 1, slots: 9, times: 3 }]],
  ])('pays once on a cluster that %s', async (_what, faults) => {
    node.faults.set(faults);
    const held = await lamports(project.operator.address);
    const { registration } = JSON.parse((await register()).stdout) as Registered;
    const rent = await lamports(registration.multisig);
    expect(held - (await lamports(project.operator.address))).toBe(
      SQUADS_FEE + rent + 2n * 2_039_280n + 10_000n,
    );
    expect(await lamports(SQUADS_TREASURY)).toBe(1_000_000_000n + SQUADS_FEE);
  });

  it('keeps no key that a program of the user signs with, and asks that program from then on', async () => {
    const script = join(home, 'sign.mjs');
    writeFileSync(script, SIGNING_PROGRAM);
    const program = `node ${script} ${project.files.operator}`;
    const { exit, stdout } = await run(
      ...[
        'register',
        '--cluster',
        node.url,
        '--mint',
        project.token.mint,
        '--owner',
        project.owner.address,
        '--yes',
      ],
      ...['--operator', project.operator.address, '--operator-signer', program, '--max-priority-fee', '77'],
    );
    expect(exit).toBe(0);
    const { registration } = JSON.parse(stdout) as Registered;
    expect(readdirSync(join(dataDir, 'keys'))).toEqual([`${registration.burnWallet}.json`]);
    expect(JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))).toMatchObject({
      signers: { operator: program },
      cluster: { sending: { maxPriorityFee: 77 } },
    });
  });

  it('says what the operator lacks, and sends nothing', async () => {
    const poor = ['--operator-keypair', project.files.burnWallet];
    expect(failure(await register(...poor))).toMatchObject({
      error: 'ERR_INSUFFICIENT_FUNDS',
      message: expect.stringContaining(`The operator ${project.burnWallet.address} lacks`),
    });
    expect(existsSync(join(dataDir, 'local.json'))).toBe(false);
  });

  it.each([
    ['registered', async () => expect((await register()).exit).toBe(0), SQUADS_FEE],
    ['set up', async () => expect((await run('local', 'init')).exit).toBe(0), 0n],
  ] as const)('pays nothing where another flywheel is %s while it asks', async (_how, meanwhile, paid) => {
    const { status, text } = await registerAfter(meanwhile);
    expect([status, text]).toEqual([6, expect.stringContaining('Another flywheel has been set up in')]);
    expect((await lamports(SQUADS_TREASURY)) - 1_000_000_000n).toBe(paid);
    expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
    const { burnWallet, operator } = JSON.parse((await run('local', 'status')).stdout);
    expect(readdirSync(join(dataDir, 'keys'))).toEqual(
      expect.arrayContaining([`${burnWallet}.json`, `${operator}.json`]),
    );
    expect((await run('batch', 'current')).exit).toBe(0);
  });

  it.each(['new', 'finished'])(
    'pins nothing that was not shown of a %s one, and sends nothing for it',
    async (state) => {
      if (state === 'finished') expect((await register()).exit).toBe(0);
      const config = join(dataDir, 'local.json');
      const before = [await lamports(SQUADS_TREASURY), existsSync(config) && readFileSync(config, 'utf8')];
      const { status, text } = await registerAfter(giveUpMinting);
      const changed = /mint\.mintAuthority\s+was\s+\w+\s+and\s+is\s+none/;
      expect([status, text]).toEqual([9, expect.stringMatching(changed)]);
      expect([await lamports(SQUADS_TREASURY), existsSync(config) && readFileSync(config, 'utf8')]).toEqual(
        before,
      );
      expect((await register()).exit).toBe(0);
      expect(pinned()).toMatchObject({ facts: { 'mint.mintAuthority': 'none' } });
    },
  );

  it('takes the place of none where no database is named', async () => {
    expect(failure(await register('--take-over', 'another')).error).toBe('ERR_USAGE');
    expect(existsSync(join(dataDir, 'registration.json'))).toBe(false);
  });

  it('leaves a directory that began to no other command, and no other registration once it has sent', async () => {
    node.faults.set([{ fault: 'drop', rate: 1 }]);
    const begun = startFlywheel({ home, env: { FLYWHEEL_DATA_DIR: dataDir } }, words('--yes'));
    const state = (): string => readFileSync(join(dataDir, 'registration.json'), 'utf8');
    const ended = new Promise((resolve) => void begun.once('close', resolve));
    const hasSent = (): boolean =>
      existsSync(join(dataDir, 'registration.json')) && state().includes('"wire"');
    while (begun.exitCode === null && !hasSent())
      await new Promise((resolve) => void setTimeout(resolve, 20));
    begun.kill('SIGKILL');
    await ended;
    expect(failure(await run('local', 'status'))).toMatchObject({
      error: 'ERR_LOCAL_NOT_FOUND',
      hint: expect.stringContaining('flywheel register'),
    });
    expect(failure(await run('local', 'init'))).toMatchObject({
      error: 'ERR_LOCAL_ALREADY_EXISTS',
      hint: expect.not.stringContaining('local reset'),
    });
    expect(failure(await register('--daily-burn-cap', '7'))).toMatchObject({
      error: 'ERR_LOCAL_ALREADY_EXISTS',
      message: expect.stringContaining('differs in dailyBurn'),
      hint: 'Run the command that began it, to its end.',
    });
    node.faults.set([]);
    const planned = JSON.parse((await run(...words('--dry-run'))).stdout);
    const done = JSON.parse((await register()).stdout) as Registered;
    const { multisig, burnWallet } = done.registration;
    expect(planned).toMatchObject({ state: 'unfinished', multisig, burnWallet });
  });
});
