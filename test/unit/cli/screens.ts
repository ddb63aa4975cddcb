/** Every screen by name: a command line on the given terminal, with scripted answers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourcePipeline } from '../../../src/actions/pipelines.js';
import { nodeAddress } from '../../../src/chain/node-address.js';
import { memo, proofMemoText } from '../../../src/chain/small-programs.js';
import { burnChecked } from '../../../src/chain/tokens/instructions.js';
import type { OpenedService } from '../../../src/cli/context.js';
import type { DatabaseAdmin } from '../../../src/compose/database-admin.js';
import type { PipelineState } from '../../../src/contract/schemas/batch.js';
import type { AnswerOf } from '../../../src/contract/service.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { type Address, isAddress } from '../../../src/values/address.js';
import { proofHash, sha256 } from '../../../src/values/digest.js';
import { honestWorld, KEYS as WALLETS, type World } from '../../attacks/world.js';
import { type FakeService, fakeService } from '../../support/fake-service.js';
import { type TestCli, type TestCliOptions, testCli } from '../../support/in-process.js';
import { namedAddress, toWeb3 } from '../../support/oracle.js';
import { EXAMPLES } from '../../support/wire-examples.js';
import { flywheel, instructionsOf, ownerKeypair, vaultToken } from '../batch-on-chain.js';
import { approvalIn, HONEST_PINS, openedIn, paidBefore, worldOf } from './approval-world.js';
import { ACTS, DATABASE, DATE, GAP, KEYS, MADE, REPORT, STATUS, VAULT } from './fixtures.js';
import { nodeOf, pastOf } from './past-batch.js';
import { PLAN, registering } from './registration.js';
import { aBatch, localWith, refuse, reply } from './single-command.js';

type Unfinished = Awaited<ReturnType<NonNullable<OpenedService['recovery']>['unfinished']>>[number];

/** The options say which terminal it is. */
export type Screen = (terminal: TestCliOptions) => ReturnType<TestCli['run']>;

const TX = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const HASH = '238186c045395ed9f8fe5eda2a253194a384bf392c8ba4a86bd8fdc4907a4d95';
const ID = aBatch().id;

const change = (before: string, after: string) => ({ before, after });
const FORESEEN = {
  ...{ burnWallet: change('986404.25', '985153.75'), supply: change('999986404.25', '999985153.75') },
  usedToday: change('13595.75', '14846.25'),
};
const FAILURES = [
  { index: 1, type: 'ERR_INVALID_PROOF', message: 'The proof type "NOPE" is not known or not permitted.' },
  {
    ...{ index: 2, type: 'ERR_BURN_TOKENOMICS_FAILED' },
    message: `Insufficient funds: the burn wallet ${MADE.burnWallet} has 985,153.75 FLY and needs 3,000,000 FLY. Send FLY to that address.`,
  },
] as const;
const seeing = (failures: readonly (typeof FAILURES)[number][]): Partial<OpenedService> => ({
  foresight: {
    feesAfterSetUp: () => 65_000n,
    burns: async () => ({ failures, ...FORESEEN }),
    batch: async () => ({
      ...{ vault: change('1000000', '999998.5'), supply: change('999986404.25', '999986402.75') },
      usedToday: { burn: change('13595.75', '13597.25'), airdrop: change('0', '0') },
      costs: { feeLamports: '105000', rentPaidLamports: '10000000', vaultRentLamports: '2039280' },
    }),
  },
  symbol: 'FLY',
});

const TOTALS = { pipelines: 60, burn: '300', airdrop: '250147.5', recipients: 60 };
const BURNED = { result: 'SUCCESS', hash: HASH, txHash: TX, type: 'PRODUCT_BUY', dateBurned: DATE };
const BURN = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"orderId":"A-1001"}', '--amount', '1250.5'];
const BURNS = ['A-1', 'A-2', 'A-3'].map((orderId, index) => ({
  ...{ type: index === 1 ? 'NOPE' : 'PRODUCT_BUY', proof: { orderId }, persistOnchain: true },
  burnAmount: [1250.5, 2, 3_000_000][index],
}));
const PIPELINES = [
  { type: 'T', payload: { b: 1, a: 2 }, actions: [{ action: 'BURN', amount: '1.5' }] },
  { type: 'U', payload: { a: 3 }, actions: [{ action: 'MEMO', message: 'thank you' }] },
];

/** Runs words in a home with these files, with a prepared service. */
const asking =
  (
    words: readonly string[],
    prepare: (service: FakeService) => void = () => undefined,
    { files = {}, ...more }: TestCliOptions & { files?: Readonly<Record<string, unknown>> } = {},
  ): Screen =>
  async (terminal) => {
    const service = fakeService();
    prepare(service);
    const cli = testCli({ ...terminal, service, ...more });
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(cli.home, name), JSON.stringify(content), { mode: 0o600 });
    return cli.run(...words);
  };
const onMachine = (
  words: readonly string[],
  parts: Parameters<typeof localWith>[0],
  answers: readonly string[] = [],
): Screen => asking(words, undefined, { openers: localWith(parts), answers });
const onDatabase = (words: readonly string[], parts: Partial<DatabaseAdmin>): Screen =>
  asking(words, undefined, { openers: { openDatabase: async () => parts as DatabaseAdmin } });
const failing = (error: FlywheelError): Screen =>
  asking(BURN, (service) =>
    service.answer('burn', () => {
      throw error;
    }),
  );

const APPROVE = ['batch', 'approve', 'approval.json', '--keypair', 'owner.json'];
/** Runs words in the world of a batch; the owner answers no. @param paid - pipelines that an earlier batch has executed */
const inWorld =
  (words: readonly string[], makeWorld: () => World, more: Partial<OpenedService> = {}, paid = 0): Screen =>
  async (terminal) => {
    const world = makeWorld();
    const service = fakeService();
    service.answer('getBatch', () => reply(aBatch({ ...world.batch, id: ID })));
    const opened = { ...openedIn(world), service: service.service, trusted: async () => flywheel, ...more };
    const cli = testCli({ ...terminal, service, opened, answers: ['n'] });
    if (paid > 0) await paidBefore(cli, paid, true);
    approvalIn(cli.home, world);
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
    return cli.run(...words);
  };
const airdrops = (...to: readonly (readonly [wallet: string, amount: number])[]): readonly SourcePipeline[] =>
  to.map(([toAddress, amount], at) => ({
    ...{ type: 'WATCH_AD', proofHash: sha256(String(at)) },
    actions: [{ action: 'AIRDROP', toAddress: toAddress as Address, amount }],
  }));
/** One is a hundred thousand times the others. */
const PLANTED = airdrops(
  ...Array.from(
    { length: 60 },
    (_, at) => [namedAddress(`wallet ${at}`), at === 58 ? 250_000 : 2.5] as const,
  ),
);
const memos = (...messages: readonly string[]): readonly SourcePipeline[] =>
  messages.map((message, at) => ({
    ...{ type: 'WATCH_AD', proofHash: sha256(String(at)), actions: [{ action: 'MEMO', message }] },
  }));

/** Addresses with the first and last characters of another, the letters in another case where `swaps`. */
function lookAlikeOf(known: string, swaps = false): string {
  const swapped = (text: string): string =>
    text.replace(/./g, (one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()));
  const start = swaps ? known.slice(0, 1) + swapped(known.slice(1, 4)) : known.slice(0, 4);
  const found = [...'ABCDEFGH'].map((one) => `${start}${known.slice(4, 20)}${one}${known.slice(21)}`);
  return found.find((text) => text !== known && isAddress(text)) ?? known;
}
const [alice, bob] = [namedAddress('alice'), namedAddress('bob')];
const ALIKE = [WALLETS.mint, WALLETS.operator].map((known) => lookAlikeOf(String(known)));

const inspecting =
  (makeWorld: () => World, more: Partial<OpenedService> = {}): Screen =>
  async (terminal) => {
    const world = makeWorld();
    const cli = testCli({ ...terminal, opened: { ...openedIn(world), ...more } });
    return cli.run('batch', 'inspect', approvalIn(cli.home, world));
  };
const changedWorld = (change: (world: World) => void) => (): World => {
  const world = honestWorld();
  change(world);
  return world;
};

const EXECUTED = {
  ...{ total: 3, totalSuccessful: 2, totalFailed: 1, failedOnTransactionIndex: 2 },
  failedTxMsg: 'custom program error: 0x1',
  successfulExecutions: [{ bundleId: '1f0e3dad-99c8-4a3e-8d0c-2b5a6d7e8f90', txHashes: [TX, TX] }],
};
const [pipeline] = (EXAMPLES.batchPipelines.response as AnswerOf<'batchPipelines'>).items as [PipelineState];
const SHOWN: readonly PipelineState[] = [
  { ...pipeline, state: 'EXECUTED', txHash: TX },
  { ...pipeline, index: 1, state: 'FAILED', message: 'custom error 1' },
  { ...pipeline, index: 2, state: 'NOT_EXECUTED', actions: [{ action: 'MEMO', message: 'hi' }] },
];
const listed = (amount: string, status: 'SUCCESS' | 'FAILED') => ({
  ...{ hash: HASH, txHash: TX, type: 'PRODUCT_BUY', amount, persistOnchain: false, status },
  ...{ dateCreated: DATE, ...(status === 'SUCCESS' ? { dateBurned: DATE } : {}) },
});

const proofOnChain = (): Partial<OpenedService> => {
  const payer = namedAddress('payer');
  const { mint, decimals, tokenProgram, vaultTokenAccount: account } = vaultToken;
  const burn = burnChecked({ mint, decimals, tokenProgram, account, owner: payer, amount: 1_500_000n });
  const text = proofMemoText('WATCH_AD', proofHash({ a: 1 }));
  const past = nodeOf(new Map([['sig-1', [memo(text, [payer]), burn]]]));
  return { chain: past, pins: flywheel };
};
const NODE = {
  ...{ genesisHash: 'hash', cluster: 'devnet', slot: 400, slotsBehind: 2, version: '2.0.1' },
  ...{ latencyMs: 30, clockAheadMs: 90_000 },
};

/** Changes that make a batch unfit for approval. */
const WORLDS: Readonly<Record<string, (world: World) => void>> = {
  'not-understood': (world) => {
    const strange = toWeb3({ program: namedAddress('a program'), accounts: [], data: Uint8Array.of(1) });
    world.instructions[1] = [...(world.instructions[1] ?? []), strange];
  },
  approved: (world) => {
    world.state = (state) => {
      state.proposal = {
        ...{ ...state.proposal, approved: [WALLETS.owner, WALLETS.operator] },
        status: { __kind: 'Approved', timestamp: 1 },
      };
    };
  },
  drifted: (world) => {
    world.state = (state) => {
      state.multisig = { ...state.multisig, threshold: 1 };
    };
  },
};

export const SCREENS: Readonly<Record<string, Screen>> = {
  help: asking(['--help']),
  'local-init': onMachine(['local', 'init'], { init: async () => MADE }),
  'local-status': onMachine(['local', 'status'], { status: async () => STATUS }),
  'local-fund': onMachine(['local', 'fund', '--tokens', '5'], {
    fund: async () => ({
      ...{ address: MADE.vaultAddress, tokens: '1005000', lamports: '1500000000', txHash: TX },
    }),
  }),
  vault: onMachine(['vault'], { vault: async () => VAULT }),
  'vault-own-cluster': onMachine(['vault'], {
    vault: async () => ({ ...VAULT, cluster: { name: null, genesisHash: 'genesis' } }),
  }),
  burn: asking(BURN, (service) => service.answer('burn', () => reply(BURNED)), { opened: seeing([]) }),
  'burn-on-cluster': asking(BURN, (service) => service.answer('burn', () => reply(BURNED)), {
    opened: { explorer: 'devnet', symbol: 'FLY' },
  }),
  'burn-dry-run': asking([...BURN, '--dry-run'], undefined, { opened: seeing([]) }),
  history: asking(['history'], undefined, { opened: { symbol: 'FLY', explorer: 'devnet' } }),
  'history-failed': asking(['history', '--status', 'FAILED'], (service) =>
    service.answer('listBurns', () =>
      reply({ items: [listed('3000000', 'FAILED'), listed('2.5', 'FAILED')], nextCursor: null }),
    ),
  ),
  'history-one': asking(['history', '--status', 'FAILED'], (service) =>
    service.answer('listBurns', () => reply({ items: [listed('3000000', 'FAILED')], nextCursor: null })),
  ),
  'burn-batch': asking(
    ['burn-batch', 'burns.json'],
    (service) =>
      service.answer('burnBatch', () => {
        const [, ...failed] = BURNS;
        const errors = failed.map(({ proof, type: proofType }, at) => {
          const { type, message } = FAILURES[at] as (typeof FAILURES)[number];
          return { type, message, proof, proofType };
        });
        return reply({ success: [{ ...BURNED, hash: proofHash({ orderId: 'A-1' }) }], errors });
      }),
    { opened: { symbol: 'FLY' }, files: { 'burns.json': BURNS } },
  ),
  'burn-batch-dry-run': asking(['burn-batch', 'burns.json', '--dry-run'], undefined, {
    ...{ opened: seeing(FAILURES), files: { 'burns.json': BURNS } },
  }),
  'burn-batch-problems': asking(['burn-batch', 'burns.json'], undefined, {
    files: { 'burns.json': [BURNS[0], { ...BURNS[1], burnAmount: -1, more: 1 }] },
  }),
  'batch-init': asking(['batch', 'init', 'p.json'], undefined, { files: { 'p.json': PIPELINES } }),
  'batch-init-dry-run': asking(['batch', 'init', 'p.json', '--dry-run'], undefined, {
    ...{ opened: seeing([]), files: { 'p.json': PIPELINES } },
  }),
  'batch-init-dry-run-unusual': asking(['batch', 'init', 'p.json', '--dry-run'], undefined, {
    files: {
      'p.json': [1, 1, 1, 400].map((amount) => ({ ...PIPELINES[0], actions: [{ action: 'BURN', amount }] })),
    },
  }),
  'batch-list': asking(['batch', 'list'], (service) => {
    const { failedOnTransactionIndex: _, ...result } = EXECUTED;
    const ended = { executeResult: { ...result, failedTxMsg: 'cancelled' }, dateCancelled: DATE };
    service.answer('listBatches', () =>
      reply({
        items: [
          { ...aBatch(), totals: TOTALS },
          { ...aBatch({ status: 'FAILED', ...ended }), totals: { ...TOTALS, airdrop: '0' } },
        ],
        nextCursor: null,
      }),
    );
  }),
  'batch-current': asking(['batch', 'current', '-v'], (service) =>
    service.answer('currentBatch', () => ({
      value: aBatch(),
      meta: {
        ...{ replayed: false, requestId: 'req-1' },
        cost: { operatorLamports: 2_000_015_000n, vaultLamports: 0n },
      },
    })),
  ),
  'batch-status': asking(['batch', 'status', ID], (service) =>
    service.answer('getBatch', () => reply(aBatch({ status: 'FAILED', executeResult: EXECUTED }))),
  ),
  ...Object.fromEntries(
    ['human', 'csv'].map((form) => [
      form === 'csv' ? 'batch-show-csv' : 'batch-show',
      asking(['batch', 'show', ID, '--output', form], (service) =>
        service.answer('batchPipelines', () => reply({ items: SHOWN, nextCursor: null })),
      ),
    ]),
  ),
  'batch-execute': asking(['batch', 'execute', ID, '--signed-tx', 'AgAAAAAAAAAA'], (service) => {
    const done = { ...EXECUTED, totalSuccessful: 3, totalFailed: 0 };
    service.answer('executeBatch', () => reply({ batchId: ID, result: done }));
  }),
  'batch-inspect': inspecting(honestWorld),
  ...Object.fromEntries(
    Object.entries(WORLDS).map(([name, change]) => [
      `batch-inspect-${name}`,
      inspecting(changedWorld(change)),
    ]),
  ),
  'batch-inspect-executed-in-part': inspecting(honestWorld, {
    ...{ chain: nodeOf(pastOf(instructionsOf(), 2)), trusted: async () => flywheel },
  }),
  'batch-approve': inWorld(APPROVE, honestWorld),
  'batch-approve-unusual': inWorld(APPROVE, () => worldOf(PLANTED)),
  'batch-inspect-unusual-unpinned': inspecting(() => worldOf(PLANTED), {
    ...{ pins: null, trusted: async () => null },
  }),
  'batch-approve-alike': inWorld(APPROVE, () =>
    worldOf(airdrops(...[...ALIKE, alice, lookAlikeOf(alice)].map((wallet) => [wallet, 2] as const))),
  ),
  'batch-approve-alike-earlier': inWorld(
    APPROVE,
    () => worldOf(airdrops([lookAlikeOf(alice), 2], [lookAlikeOf(alice, true), 2])),
    {},
    3,
  ),
  'batch-approve-new': inWorld(
    APPROVE,
    () => worldOf(airdrops([alice, 2], [bob, 2], [namedAddress('carol'), 2])),
    {},
    3,
  ),
  'batch-approve-paid': inWorld(APPROVE, honestWorld, {}, 1),
  'batch-approve-hidden': inWorld(APPROVE, () =>
    worldOf(memos('safe \u202egnp.exe', 'a\u200bb', 'thanks \u2764\ufe0f')),
  ),
  'batch-verify': inWorld(['batch', 'verify', ID, '--expect', `sha256:${'0'.repeat(64)}`], honestWorld, {
    chain: nodeOf(pastOf(instructionsOf(), 3)),
  }),
  'proof-verify': asking(['proof', 'verify', '--tx', 'sig-1', '--proof', 'proof.json'], undefined, {
    ...{ opened: proofOnChain(), files: { 'proof.json': { a: 1 } } },
  }),
  report: asking(['report', '--by', 'month,type'], (service) =>
    service.answer('report', () => reply(REPORT)),
  ),
  // No spreadsheet runs its text.
  'report-csv': asking(['report', '--output', 'csv'], (service) =>
    service.answer('report', () => reply(REPORT)),
  ),
  pending: async (terminal) => {
    const service = fakeService();
    service.answer('burn', () => refuse('ERR_OUTCOME_UNKNOWN', 'No answer came.'));
    service.answer('listBatches', () =>
      reply({ items: [{ ...aBatch(), totals: TOTALS }], nextCursor: null }),
    );
    const unfinished: Unfinished[] = [
      {
        ...{ id: '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12', operation: 'burnBatch', running: false },
        ...{ idempotencyKey: null, dateBegun: DATE, signatures: [TX] },
      },
    ];
    const recovery = { unfinished: async () => unfinished, finish: async () => undefined };
    const cli = testCli({ ...terminal, service, opened: { recovery } });
    await cli.run(...BURN);
    return cli.run('pending');
  },
  whoami: async (terminal) => {
    const chain = { kind: 'ledger', name: null, genesisHash: 'hash' } as const;
    const openers = { dataChain: async () => chain, dataPins: async () => HONEST_PINS };
    return testCli({ ...terminal, openers }).run('whoami', '--check', '--timeout', '5');
  },
  doctor: asking(
    ['doctor', '--api-url', 'https://api.example', '--rpc-url', 'devnet', '--rpc-url', 'testnet'],
    (service) => service.answer('currentBatch', () => refuse('ERR_UNAUTHORIZED', 'The key was revoked.')),
    {
      openers: {
        checkRpc: async () => [
          { address: nodeAddress('https://n0.example', 'test'), state: NODE, problem: null },
          {
            ...{ address: nodeAddress('https://n1.example', 'test'), state: null },
            problem: new FlywheelError('ERR_UNAVAILABLE', 'It does not answer.'),
          },
        ],
      },
    },
  ),
  'profile-list': async (terminal) => {
    const cli = testCli(terminal);
    await cli.run('profile', 'add', 'staging', '--api-url', 'https://api.example');
    await cli.run('profile', 'add', 'local', '--data-dir', '/data');
    return cli.run('profile', 'list');
  },
  'keys-list': onMachine(['keys', 'list'], { listKeys: async () => KEYS }),
  'keys-list-csv': onMachine(['keys', 'list', '--output', 'csv'], { listKeys: async () => KEYS }),
  'caps-raise': onMachine(['caps', '--burn', '10000000'], { caps: async () => VAULT.today }, ['n']),
  'caps-remove': onMachine(['caps', '--burn', 'none'], { caps: async () => VAULT.today }, ['n']),
  caps: onMachine(['caps', '--burn', '5000000'], {
    ...{ caps: async () => VAULT.today, setCaps: async () => VAULT.today },
  }),
  'keys-create': onMachine(['keys', 'create'], { createKey: async () => MADE.apiKey }),
  audit: onMachine(['audit'], { audit: async () => ACTS }),
  'audit-csv': onMachine(['audit', '--output', 'csv'], { audit: async () => ACTS }),
  'db-status': onDatabase(['db', 'status'], { status: async () => DATABASE }),
  'db-check': onDatabase(['db', 'check'], {
    check: async () => [
      { name: 'caps', ok: true, detail: 'no days over their cap' },
      { name: 'supply FLY', ok: false, detail: 'less was burned than is written down' },
    ],
  }),
  'db-migrate': onDatabase(['db', 'migrate', '--dry-run'], {
    migrate: async () => ({ database: 'postgres://db/fly', from: 2, to: 4, applied: ['landings', 'keys'] }),
  }),
  'db-accept-gap': onMachine(['db', 'accept-gap'], {
    gap: async () => GAP,
    acceptGap: async () => undefined,
  }),
  register: asking(
    [
      ...['register', '--cluster', 'devnet', '--mint', PLAN.mint, '--owner', PLAN.owner],
      ...['--operator-keypair', 'operator.json'],
    ],
    undefined,
    {
      ...{ openers: { register: registering(PLAN) }, answers: ['n'] },
      files: { 'operator.json': [...ownerKeypair] },
    },
  ),
  'error-usage': asking(['burn', '--typ', 'PRODUCT_BUY']),
  'error-missing': asking(['burn']),
  'error-unknown': failing(new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came from the service.')),
  'error-rate': failing(
    new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'The rate limit of this operation is used up.', {
      ...{ status: 429, retryAfterSeconds: 30, requestId: 'req-1', unsent: true },
    }),
  ),
  'error-funds': failing(new FlywheelError('ERR_BURN_TOKENOMICS_FAILED', FAILURES[1].message)),
};
