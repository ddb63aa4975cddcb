/**
 * Whole screens as people see them: at 60, 80 and 120 columns, without colour and with it. Each is a file; `npx vitest run
 * --config test/vitest.config.ts test/unit/cli/screens.test.ts -u` writes them again, to be looked at.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { BurnPlan } from '../../../src/cli/burn/burn-plan.js';
import type { LocalInitResult, LocalStatusResult, LocalVaultResult } from '../../../src/cli/context.js';
import { plainStyle } from '../../../src/cli/output/color.js';
import { viewBurnPlan } from '../../../src/cli/views/burn.js';
import { viewBurnBatchPlan } from '../../../src/cli/views/burn-batch.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { honestWorld, inspect } from '../../support/approval-world.js';
import { aBatch, localWith, refuse, reply } from '../../support/commands.js';
import { fakeService } from '../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';

const WIDTHS = [60, 80, 120];
const TX = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const HASH = '238186c045395ed9f8fe5eda2a253194a384bf392c8ba4a86bd8fdc4907a4d95';

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
}

/** A screen for these options, which say what terminal it is. */
type Screen = (terminal: TestCliOptions) => Promise<Ended>;

/** What stands in the place of the directory of a test, which is another each time and as long. */
const steady = (text: string): string =>
  text.replace(
    /\/tmp\/flywheel-tests-\w{6}\/flywheel-test-\w{6}/g,
    '/home/operator/projects/of-a-shop/its-workspace',
  );

async function rendered(screen: Screen): Promise<string> {
  const parts: string[] = [];
  for (const columns of WIDTHS)
    for (const env of [{ NO_COLOR: '1' }, { FORCE_COLOR: '1' }] as const) {
      const { stdout, stderr } = await screen({
        ...{ columns, env, tty: { stdin: true, stdout: true, stderr: true } },
      });
      const name = 'NO_COLOR' in env ? '' : ', colour';
      const text = steady(`${stdout}${stderr === '' ? '' : `--- stderr\n${stderr}`}`);
      parts.push(`=== ${columns} columns${name}\n${text.replaceAll('\u001b', '␛')}`);
    }
  return parts.join('\n');
}

const LOCAL = {
  ...{ tokenId: 'a5f1f6c0-4e8f-4b57-9d3c-0d9a4b1f2c11', mintAddress: namedAddress('mint'), decimals: 6 },
  ...{ tokenProgram: 'token', flywheelId: 'f0be3631-b34d-40ba-986e-76ed689069a9' },
  ...{ multisig: namedAddress('multisig'), vaultIndex: 0, vaultAddress: namedAddress('vault') },
  ...{ burnWallet: namedAddress('burn wallet'), operator: namedAddress('operator') },
  owner: { address: namedAddress('owner'), keypair: '/keys/owner.json' },
  ...{ proofTypes: ['PRODUCT_BUY', 'WATCH_AD'], dailyLimits: { burn: '5000000', airdrop: null } },
};
const MADE: LocalInitResult = {
  ...LOCAL,
  apiKey: { id: 'f398e3ad-c647-4033-a0cb-d85d55096423', key: 'fk_secret', scopes: ['burn', 'airdrop'] },
};
const BALANCES = {
  vault: { tokens: '1000000', lamports: '10000000000' },
  burnWallet: { tokens: '986404.25', lamports: '9999990000' },
  owner: { lamports: '1000000000' },
  operator: { lamports: '20000000000' },
};
const STATUS: LocalStatusResult = {
  ...{ ...LOCAL, name: 'Flywheel', symbol: 'FLY', supply: '999986404.25', burned: '13595.75' },
  ...{ balances: BALANCES, usedToday: { burn: '13595.75', airdrop: '0' } },
};
const VAULT: LocalVaultResult = {
  cluster: { name: 'devnet', genesisHash: namedAddress('genesis') },
  ...{ name: 'Flywheel', symbol: 'FLY', mintAddress: LOCAL.mintAddress, multisig: LOCAL.multisig },
  ...{ vaultIndex: 0, vaultAddress: LOCAL.vaultAddress, vaultTokenAccount: namedAddress('vault tokens') },
  ...{ burnWallet: LOCAL.burnWallet, burnTokenAccount: namedAddress('burn tokens') },
  ...{ owner: LOCAL.owner.address, operator: LOCAL.operator, balances: BALANCES },
  today: {
    day: '2026-01-31',
    burn: { used: '13595.75', cap: '5000000', left: '4986404.25' },
    airdrop: { used: '0', cap: null, left: null },
  },
  pipelines: {
    ...{ rentLamports: '3090240', feeLamports: '10250', openRentLamports: '0' },
    ...{ atOnce: 1_000, lasts: '1639563' },
  },
  burns: { feeLamports: '5000', lasts: '1999819' },
};

const change = (before: string, after: string) => ({ before, after });
const FORESEEN = {
  ...{ burnWallet: change('986404.25', '985153.75'), supply: change('999986404.25', '999985153.75') },
  usedToday: change('13595.75', '14846.25'),
};
const FORESIGHT = {
  burns: async () => ({ failures: [], ...FORESEEN }),
  batch: async () => refuse('ERR_INTERNAL', 'Nobody asked for a batch.'),
};
const FAILURES = [
  { index: 1, type: 'ERR_INVALID_PROOF', message: 'The proof type "NOPE" is not known or not permitted.' },
  {
    ...{ index: 2, type: 'ERR_BURN_TOKENOMICS_FAILED' },
    message: `The burn wallet ${LOCAL.burnWallet} has 985153.75 FLY left, 3000000 FLY are needed; send it FLY.`,
  },
];
const OUTLOOK = { foresight: FORESIGHT, credential: null, symbol: 'FLY' };
const BURNED = { result: 'SUCCESS', hash: HASH, txHash: TX, type: 'PRODUCT_BUY' };
const DATE = '2026-01-31T12:00:00.000Z';
const burnWords = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"orderId":"A-1001"}', '--amount', '1250.5'];

/** Words with a service that answers as told. */
const asking =
  (words: readonly string[], prepare: (service: ReturnType<typeof fakeService>) => void, more = {}): Screen =>
  async (terminal) => {
    const service = fakeService();
    prepare(service);
    return testCli({ ...terminal, service, ...more }).run(...words);
  };
const onMachine =
  (words: readonly string[], parts: Parameters<typeof localWith>[0]): Screen =>
  async (terminal) =>
    testCli({ ...terminal, openers: localWith(parts) }).run(...words);
const failing = (error: FlywheelError): Screen =>
  asking(burnWords, (service) =>
    service.answer('burn', () => {
      throw error;
    }),
  );
const viewed =
  (view: (columns: number) => readonly string[]): Screen =>
  async ({ columns = 80 }) => ({ stdout: `${view(columns).join('\n')}\n`, stderr: '' });

const listed = (amount: string, status: 'SUCCESS' | 'FAILED') => ({
  ...{ hash: HASH, txHash: TX, type: 'PRODUCT_BUY', amount, persistOnchain: false, status },
  ...{ dateCreated: DATE, ...(status === 'SUCCESS' ? { dateBurned: DATE } : {}) },
});
const EXECUTED = {
  ...{ total: 3, totalSuccessful: 2, totalFailed: 1, failedOnTransactionIndex: 2 },
  failedTxMsg: 'custom program error: 0x1',
  successfulExecutions: [{ bundleId: '1f0e3dad-99c8-4a3e-8d0c-2b5a6d7e8f90', txHashes: [TX, TX] }],
};
const SUMS = {
  ...{ burned: '1250000.5', airdropped: '20000', burns: 1_999, failedBurns: 1 },
  ...{ pipelines: 3, failedPipelines: 0, feeLamports: '75000', rentLamports: '-5000000000' },
};
const PLAN: BurnPlan = {
  ...{ dryRun: true, type: 'PRODUCT_BUY', hash: HASH, amount: 1250.5, foreseen: FORESEEN },
};

const SCREENS: Readonly<Record<string, Screen>> = {
  help: async (terminal) => testCli(terminal).run('--help'),
  'help-burn-batch': async (terminal) => testCli(terminal).run('burn-batch', '--help'),
  'local-init': onMachine(['local', 'init'], { init: async () => MADE }),
  'local-status': onMachine(['local', 'status'], { status: async () => STATUS }),
  vault: onMachine(['vault'], { vault: async () => VAULT }),
  burn: asking(burnWords, (service) => service.answer('burn', () => reply({ ...BURNED, dateBurned: DATE })), {
    opened: { foresight: FORESIGHT, isOnThisMachine: true, symbol: 'FLY' },
  }),
  'burn-on-cluster': asking(
    burnWords,
    (service) => service.answer('burn', () => reply({ ...BURNED, dateBurned: DATE })),
    { opened: { explorer: 'devnet', symbol: 'FLY' } },
  ),
  'burn-dry-run': viewed((columns) => viewBurnPlan(PLAN, OUTLOOK, plainStyle(columns))),
  'burn-list': asking(['burn', 'list'], (service) =>
    service.answer('listBurns', () =>
      reply({ items: [listed('1250.5', 'SUCCESS'), listed('3000000', 'FAILED')], nextCursor: null }),
    ),
  ),
  'burn-batch': async (terminal) => {
    const service = fakeService();
    const burns = ['A-1', 'A-2', 'A-3'].map((orderId, index) => ({
      ...{ type: index === 1 ? 'NOPE' : 'PRODUCT_BUY', proof: { orderId }, persistOnchain: true },
      burnAmount: [1250.5, 2, 3_000_000][index],
    }));
    service.answer('burnBatch', () =>
      reply({
        success: [{ ...BURNED, dateBurned: DATE }],
        errors: FAILURES.map(({ index, ...failure }) => ({
          ...failure,
          proof: burns[index]?.proof,
          proofType: burns[index]?.type,
        })),
      }),
    );
    const cli = testCli({ ...terminal, service, opened: { symbol: 'FLY' } });
    writeFileSync(join(cli.home, 'burns.json'), JSON.stringify(burns));
    return cli.run('burn-batch', 'burns.json');
  },
  'burn-batch-dry-run': viewed((columns) => {
    const types = { PRODUCT_BUY: { elements: 2, amount: '3001250.5' }, NOPE: { elements: 1, amount: '2' } };
    const plan = { dryRun: true, elements: 3, requests: 1, totalAmount: '3001252.5', types } as const;
    const foreseen = { failures: FAILURES, ...FORESEEN };
    return viewBurnBatchPlan({ ...plan, foreseen }, OUTLOOK, plainStyle(columns));
  }),
  'batch-list': asking(['batch', 'list'], () => undefined),
  'batch-status': asking(['batch', 'status', aBatch().id], (service) =>
    service.answer('getBatch', () => reply(aBatch({ status: 'FAILED', executeResult: EXECUTED }))),
  ),
  'batch-inspect': async (terminal) => inspect(honestWorld('token'), {}, terminal),
  report: asking(['report'], (service) =>
    service.answer('report', () =>
      reply({
        ...{ symbol: 'FLY', mintAddress: LOCAL.mintAddress, decimals: 6, supply: '998749999.5' },
        ...{ since: '2026-01-01T00:00:00.000Z', until: null, pendingBurns: 1, total: SUMS },
        rows: [
          { period: '2026-01', type: 'PRODUCT_BUY', ...SUMS, burned: '1000000' },
          { period: '2026-02', type: 'WATCH_AD', ...SUMS, burned: '250000.5', airdropped: '0' },
        ],
      }),
    ),
  ),
  pending: async (terminal) => {
    const service = fakeService();
    service.answer('burn', () => refuse('ERR_OUTCOME_UNKNOWN', 'No answer came.'));
    const cli = testCli({ ...terminal, service });
    await cli.run(...burnWords);
    return cli.run('pending');
  },
  'error-usage': async (terminal) => testCli(terminal).run('burn', '--typ', 'PRODUCT_BUY'),
  'error-missing': async (terminal) => testCli(terminal).run('burn'),
  'error-unknown': failing(new FlywheelError('ERR_OUTCOME_UNKNOWN', 'No answer came from the service.')),
  'error-rate': failing(
    new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'The rate limit of this operation is used up.', {
      ...{ status: 429, retryAfterSeconds: 30, requestId: 'req-1', unsent: true },
    }),
  ),
  'error-funds': asking(
    burnWords,
    (service) =>
      service.answer('burn', () => refuse('ERR_BURN_TOKENOMICS_FAILED', FAILURES[1]?.message ?? '')),
    { opened: { isOnThisMachine: true } },
  ),
};

describe('screens', () => {
  it.each(Object.keys(SCREENS))('%s', async (name) => {
    const screen = SCREENS[name] as Screen;
    await expect(await rendered(screen)).toMatchFileSnapshot(`./golden/screens/${name}.txt`);
  });

  it.each(Object.keys(SCREENS))(
    '%s is as wide as its terminal at most, but for what is to be copied',
    async (name) => {
      for (const columns of WIDTHS) {
        const tty = { stdin: true, stdout: true, stderr: true };
        const { stdout, stderr } = await (SCREENS[name] as Screen)({ columns, tty, env: { NO_COLOR: '1' } });
        for (const line of stripVTControlCharacters(`${stdout}${stderr}`).split('\n')) {
          const isWord = !/\S\s+\S/.test(line.replace(/^\s*to resume/, ''));
          const isCommand = /^\s*(?:to resume +)?(?:\$ )?`?flywheel /.test(line);
          if (!isWord && !isCommand) expect(line.length, `${columns}: ${line}`).toBeLessThanOrEqual(columns);
        }
      }
    },
  );
});
