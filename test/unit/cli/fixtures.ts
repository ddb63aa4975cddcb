/** Example answers of a data directory's admin. */
import type { Answer } from '../../../src/cli/context.js';
import type { DatabaseStatus } from '../../../src/compose/database-admin.js';
import type { Report } from '../../../src/contract/schemas/report.js';
import { namedAddress } from '../../support/oracle.js';

export const DATE = '2026-01-31T12:00:00.000Z';
const LATER = '2026-02-01T12:00:00.000Z';

const LOCAL = {
  ...{ tokenId: 'a5f1f6c0-4e8f-4b57-9d3c-0d9a4b1f2c11', mintAddress: namedAddress('mint'), decimals: 6 },
  ...{ tokenProgram: 'token' as const, flywheelId: 'f0be3631-b34d-40ba-986e-76ed689069a9' },
  ...{ multisig: namedAddress('multisig'), vaultIndex: 0, vaultAddress: namedAddress('vault') },
  ...{ burnWallet: namedAddress('burn wallet'), operator: namedAddress('operator') },
  owner: { address: namedAddress('owner'), keypair: '/keys/owner.json' },
  ...{ proofTypes: ['PRODUCT_BUY', 'WATCH_AD'], dailyLimits: { burn: '5000000', airdrop: null } },
};
export const MADE: Answer<'init'> = {
  ...LOCAL,
  apiKey: {
    ...{ id: 'f398e3ad-c647-4033-a0cb-d85d55096423', key: 'fk_made_here', name: 'cron on web-1' },
    scopes: ['burn', 'airdrop'],
  },
};
const BALANCES = {
  vault: { tokens: '1000000', lamports: '10000000000' },
  burnWallet: { tokens: '986404.25', lamports: '9999990000' },
  owner: { lamports: '1000000000' },
  operator: { lamports: '20000000000' },
};
export const STATUS: Answer<'status'> = {
  ...{ ...LOCAL, name: 'Flywheel', symbol: 'FLY', supply: '999986404.25', burned: '13595.75' },
  ...{ balances: BALANCES, usedToday: { burn: '13595.75', airdrop: '0' } },
};
export const VAULT: Answer<'vault'> = {
  cluster: { name: 'devnet', genesisHash: namedAddress('genesis') },
  ...{ name: 'Flywheel', symbol: 'FLY', mintAddress: LOCAL.mintAddress, multisig: LOCAL.multisig },
  ...{ vaultIndex: 0, vaultAddress: LOCAL.vaultAddress, vaultTokenAccount: namedAddress('vault tokens') },
  ...{ burnWallet: LOCAL.burnWallet, burnTokenAccount: namedAddress('burn tokens') },
  ...{ owner: LOCAL.owner.address, operator: LOCAL.operator, balances: BALANCES },
  today: {
    day: '2026-01-31',
    symbol: 'FLY',
    burn: { used: '13595.75', cap: '5000000', left: '4986404.25' },
    airdrop: { used: '0', cap: null, left: null },
  },
  pipelines: {
    ...{ rentLamports: '3090240', feeLamports: '10250', openRentLamports: '0' },
    ...{ vaultRentLamports: '2039280', atOnce: 1_000, lasts: '1639563' },
  },
  burns: { feeLamports: '5000', lasts: '1999819' },
};

export const KEYS: Answer<'listKeys'>[number][] = [
  {
    ...{ id: 'key-1', name: 'cron on web-1', isInUse: true, scopes: ['burn', 'airdrop'], proofTypes: null },
    ...{ dateCreated: DATE, dateRevoked: null, dateExpires: LATER },
  },
  {
    ...{ id: 'key-2', name: null, isInUse: false, scopes: ['burn'], proofTypes: ['A', 'B'] },
    ...{ dateCreated: DATE, dateRevoked: LATER, dateExpires: null },
  },
];
export const ACTS: Answer<'audit'>[number][] = [
  {
    ...{ date: LATER, actor: 'ann@ops pid 7', action: 'keys.revoke', project: 'FLY' },
    ...{ subject: 'key-1', detail: {} },
  },
  {
    ...{ date: DATE, actor: 'ann@ops pid 8', action: 'caps.set', project: 'FLY', subject: null },
    detail: { before: { burn: '5000', airdrop: null }, after: { burn: null, airdrop: null } },
  },
  {
    ...{ date: DATE, actor: 'ann@ops pid 6', action: 'copy', project: null },
    ...{ subject: null, detail: { rows: 5 } },
  },
];

export const GAP: NonNullable<Answer<'gap'>> = {
  ...{ project: 'fly', symbol: 'FLY', burns: 22, transactions: 22, burned: '22', airdropped: '0' },
  dateFound: DATE,
  lost: Array.from({ length: 22 }, (_, index) => ({
    ...{ txHash: `signature${index}`, burned: '1', airdropped: '0', memo: null },
    date: index === 0 ? null : '2026-01-31T11:00:00.000Z',
  })),
};
export const DATABASE: DatabaseStatus = {
  ...{ database: 'postgres://db:5432/fly', source: 'FLYWHEEL_DATABASE_URL' },
  ...{ serverVersion: '18.0', latencyMs: 1.5 },
  schema: { version: 4, needed: 5, upToDate: false },
  chain: { name: 'devnet', genesisHash: namedAddress('genesis') },
  projects: { count: 2, first: [{ name: 'fly', symbol: 'FLY', mintAddress: 'Mint1' }] },
  sizes: { bytes: 2_097_152, tables: [{ name: 'burns', rows: 12_000, bytes: 1_048_576 }] },
  connections: { flywheel: 6, all: 8, max: 100 },
  pending: { burns: 1, batches: 0 },
  holders: [{ instance: 'host/1/1', requests: 1, batches: 0 }],
  ...{ openGaps: 1, heldUntilBlock: '4211' },
};

const SUMS = {
  ...{ burned: '1250000.5', airdropped: '20', burns: 1_999, failedBurns: 1 },
  ...{ pipelines: 3, failedPipelines: 0, burnWalletLamports: '75000' },
  ...{ operatorLamports: '-5000000000', vaultLamports: '2039280', costLamports: '-4997885720' },
};
const NO_RENT = {
  ...{ burnWalletLamports: '0', operatorLamports: '5000' },
  ...{ vaultLamports: '0', costLamports: '5000' },
};
const NONE = { burned: '0', airdropped: '0', burns: 0, failedBurns: 0, pipelines: 0, failedPipelines: 0 };
export const REPORT: Report = {
  ...{ symbol: 'FLY', mintAddress: LOCAL.mintAddress, decimals: 6, supply: '998749999.5' },
  ...{ since: '2026-01-01T00:00:00.000Z', until: null, pendingBurns: 2 },
  ...{ total: SUMS, chargesTransferFee: false },
  rows: [
    { period: '2026-01', type: 'PRODUCT_BUY', ...SUMS, burned: '1000000' },
    { period: '2026-02', type: '=SUM(A1)', ...SUMS, burned: '250000.5', airdropped: '0' },
    { period: '2026-02', type: null, ...NONE, ...NO_RENT },
  ],
};
