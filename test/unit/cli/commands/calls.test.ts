/** What a command line asks of the service, or of the admin of a data directory, and that a script reads the answer as it is. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../src/chain/transaction/sign.js';
import type { LocalAdmin } from '../../../../src/compose/local-admin.js';
import type { OperationId } from '../../../../src/contract/operations.js';
import { addressFromBytes } from '../../../../src/values/address.js';
import { testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';
import { ACTS, KEYS, MADE, STATUS, VAULT } from '../fixtures.js';
import { aBatch, localWith } from '../single-command.js';

const ID = aBatch().id;
const TO = namedAddress('alice');
const since = (time: string) => ({ since: `2026-01-${time}.000Z` });
const SPAN = { since: '2026-01-01T00:00:00.000Z', until: '2026-02-01T00:00:00.000Z' };
const FOUND = { type: 'T', action: 'AIRDROP', toAddress: TO, proofHash: 'ab', txHash: 'abc' };
const WORDS = `--type T --action AIRDROP --recipient ${TO} --proof-hash AB --tx abc`;

const SERVICE: readonly (readonly [line: string, operation: OperationId, input: object])[] = [
  ['report', 'report', { period: 'day' }],
  ['report --by month,type', 'report', { period: 'month', byType: 'true' }],
  ['report --by type', 'report', { period: 'all', byType: 'true' }],
  ['report --since 2026-01-01 --until 2026-02-01T01:00:00+01:00', 'report', SPAN],
  ['history', 'history', { limit: 50 }],
  [`history ${WORDS} --limit 7 --batch ${ID}`, 'history', { ...FOUND, limit: 7, batchId: ID }],
  ['history --status FAILED', 'listBurns', { status: 'FAILED', limit: 50 }],
  ['history --since 24h', 'history', since('30T12:00:00')],
  ['history --since 90min', 'history', since('31T10:30:00')],
  ['history --since 7d', 'history', since('24T12:00:00')],
  ['history --since yesterday', 'history', since('30T00:00:00')],
  ['history --since today', 'history', since('31T00:00:00')],
  ['history --since 2026-01-31T18:00:00+06:00', 'history', since('31T12:00:00')],
  ['batch list', 'listBatches', { limit: 50 }],
  [
    `batch list ${WORDS} --since 2026-01-01 --until 2026-02-01 --cursor 9`,
    'listBatches',
    { ...FOUND, ...SPAN, limit: 50, cursor: '9' },
  ],
  [
    `batch show ${ID} --state EXECUTED --action BURN --tx s --limit 1`,
    'batchPipelines',
    { batchId: ID, limit: 1, state: 'EXECUTED', action: 'BURN', txHash: 's' },
  ],
];

describe('of the service', () => {
  it.each(SERVICE)('%s: %s', async (line, operation, input) => {
    const cli = testCli();
    expect((await cli.run(...line.split(' '))).exit).toBe(0);
    const asked = cli.service.calls.filter((call) => call.operation === operation);
    expect(asked.map((call) => call.input)).toMatchObject([input]);
  });
});

const FUNDED = { address: namedAddress('vault'), tokens: '1005000', lamports: '1500000000', txHash: 'sig-1' };
const ANSWERS: Partial<Record<keyof LocalAdmin, unknown>> = {
  ...{ createKey: MADE.apiKey, listKeys: KEYS, revokeKey: KEYS[1] },
  ...{ audit: ACTS, status: STATUS, vault: VAULT },
  ...{ caps: VAULT.today, setCaps: VAULT.today, fund: FUNDED, init: MADE },
  ...{ exportOwner: { address: TO, keypair: 'o.json' }, fetchSquads: { sha256: 'dec8', fetched: true } },
};
const USUAL = {
  ...{ name: 'Flywheel', symbol: 'FLY', decimals: 6, supply: '1000000000', tokenProgram: 'token' },
  ...{ tokenGeneration: 'v1', vaultTokens: '1000000', vaultSol: '10', burnWalletTokens: '1000000' },
  ...{ burnWalletSol: '10', proofTypes: ['PRODUCT_BUY', 'WATCH_AD'], scopes: ['burn', 'airdrop'] },
  ...{ dailyBurn: null, dailyAirdrop: null, owner: null, squadsProgram: null },
};

const ADMIN: readonly (readonly [line: string, method: keyof LocalAdmin, ...given: unknown[]])[] = [
  ['keys create', 'createKey', { scopes: ['burn', 'airdrop'], proofTypes: null }],
  ['keys create --scope airdrop --scope airdrop', 'createKey', { scopes: ['airdrop'], proofTypes: null }],
  ['keys create --proof-type A --proof-type B --proof-type A', 'createKey', { proofTypes: ['A', 'B'] }],
  ['keys create --name cron --scope burn', 'createKey', { name: 'cron', scopes: ['burn'], proofTypes: null }],
  ['keys list', 'listKeys'],
  ['keys revoke key-1 --yes', 'revokeKey', 'key-1', 0],
  ['keys revoke key-2 --after 30min', 'revokeKey', 'key-2', 1_800_000],
  ['keys revoke key-2 --after 7d', 'revokeKey', 'key-2', 604_800_000],
  ['caps', 'caps'],
  ['caps --burn 5000', 'setCaps', { burn: '5000', airdrop: undefined }],
  ['caps --burn 0 --airdrop none', 'setCaps', { burn: '0', airdrop: null }],
  ['audit --since 2026-01-01 --limit 2', 'audit', { since: SPAN.since, limit: 2 }],
  ['vault', 'vault'],
  ['local status', 'status'],
  ['local fetch-squads', 'fetchSquads'],
  ['local export-owner /o.json', 'exportOwner', '/o.json'],
  ['local fund --tokens 5000', 'fund', { to: 'vault', tokens: '5000' }],
  ['local fund --to burn-wallet --sol 0.1', 'fund', { to: 'burn-wallet', sol: '0.1' }],
  [`local fund --to ${TO} --sol 2`, 'fund', { to: TO, sol: '2' }],
  ['local init', 'init', USUAL],
];

describe('of the admin', () => {
  it.each(ADMIN)('%s: %s', async (...row) => {
    const [line, method, ...given] = row as unknown as (typeof ADMIN)[number];
    const asked: unknown[] = [];
    const parts = Object.entries(ANSWERS).map(([name, answer]) => [
      name,
      async (...terms: unknown[]) => {
        if (name === method) asked.push(terms);
        return answer;
      },
    ]);
    const openers = localWith(Object.fromEntries(parts) as Partial<LocalAdmin>);
    const cli = testCli({ openers });
    const { exit, stdout } = await cli.run(...line.split(' '), '--data-dir', 'd');
    expect([exit, JSON.parse(stdout), asked]).toMatchObject([
      0,
      method === 'init' ? { owner: MADE.owner } : (ANSWERS[method] as object),
      [given],
    ]);
    expect(openers.opened).toEqual([join(cli.home, 'd'), 'closed']);
  });

  it('local init takes every part from its option; of an owner only the address and where the keypair lies', async () => {
    const asked: unknown[] = [];
    const init = async (input: unknown) => {
      asked.push(input);
      return MADE;
    };
    const cli = testCli({ openers: localWith({ init }) });
    const keypair = generateKeypair();
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...keypair]), { mode: 0o600 });
    writeFileSync(join(cli.home, 'squads.so'), 'program');
    const { exit } = await cli.run(
      ...['local', 'init', '--name', 'My Token', '--symbol', 'MY', '--decimals', '9', '--supply', '5000.5'],
      ...['--token-program', 'token-2022', '--token-generation', 'v2'],
      ...['--vault-tokens', '1', '--vault-sol', '2'],
      ...['--burn-wallet-tokens', '0', '--burn-wallet-sol', '4', '--proof-type', 'A', '--proof-type', 'B'],
      ...['--proof-type', 'A', '--scope', 'airdrop', '--daily-burn', '7', '--daily-airdrop', '8.5'],
      ...['--min-operator-sol', '0.25', '--max-batch-rent', '0'],
      ...['--owner-keypair', 'owner.json', '--squads-program', 'squads.so'],
    );
    expect(exit).toBe(0);
    expect(asked).toEqual([
      {
        ...{ name: 'My Token', symbol: 'MY', decimals: 9, supply: '5000.5' },
        ...{ tokenProgram: 'token-2022', tokenGeneration: 'v2', vaultTokens: '1', vaultSol: '2' },
        ...{ burnWalletTokens: '0', burnWalletSol: '4', proofTypes: ['A', 'B'], scopes: ['airdrop'] },
        ...{ dailyBurn: '7', dailyAirdrop: '8.5', minOperatorSol: 250_000_000n, maxBatchRent: 0n },
        owner: { address: addressFromBytes(keypair.slice(32)), keypair: join(cli.home, 'owner.json') },
        squadsProgram: join(cli.home, 'squads.so'),
      },
    ]);
  });
});
