/** `flywheel vault`: what is shown of a flywheel, and where its links lead. */
import { describe, expect, it } from 'vitest';
import type { LocalVaultResult } from '../../../../src/cli/context.js';
import { localWith } from '../../../support/commands.js';
import { testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';

const VAULT = namedAddress('vault');

const report = (more: Partial<LocalVaultResult> = {}): LocalVaultResult => ({
  cluster: null,
  ...{ name: 'Shop', symbol: 'SHOP', mintAddress: namedAddress('mint'), multisig: namedAddress('multisig') },
  ...{ vaultIndex: 0, vaultAddress: VAULT, vaultTokenAccount: namedAddress('vault tokens') },
  ...{ burnWallet: namedAddress('burn wallet'), burnTokenAccount: namedAddress('burn tokens') },
  ...{ owner: namedAddress('owner'), operator: namedAddress('operator') },
  balances: {
    vault: { tokens: '999.5', lamports: '10000000000' },
    burnWallet: { tokens: '70', lamports: '5000000' },
    operator: { lamports: '1500000000' },
    owner: { lamports: '0' },
  },
  today: {
    day: '2026-01-31',
    burn: { used: '10', cap: '50', left: '40' },
    airdrop: { used: '0', cap: null, left: null },
  },
  pipelines: {
    rentLamports: '3000000',
    feeLamports: '10250',
    openRentLamports: '0',
    atOnce: 300,
    lasts: '9000',
  },
  burns: { feeLamports: '5000', lasts: '821' },
  ...more,
});

const TERMINAL = { tty: { stdin: true, stdout: true, stderr: true } };
const run = (value: LocalVaultResult, words: readonly string[] = [], options = {}) =>
  testCli({ openers: localWith({ vault: async () => value }), ...options }).run('vault', ...words);

describe('vault', () => {
  it('shows addresses, balances, what the caps leave, and for how long the SOL lasts', async () => {
    const { exit, stdout } = await run(report(), [], TERMINAL);
    expect(exit).toBe(0);
    for (const text of [
      'Shop (SHOP)',
      VAULT,
      namedAddress('burn tokens'),
      '999.5',
      'operator               1.5',
      '40 of 50 SHOP left, 10 SHOP used',
      '0 SHOP used, no cap',
      '300 at once, SOL of the operator for 9,000 in all',
      '0.003 SOL of rent',
    ])
      expect(stdout).toContain(text);
    expect(stdout).not.toContain('explorer.solana.com');
  });

  it.each([
    ['mainnet-beta', `https://explorer.solana.com/address/${VAULT}\n`],
    ['devnet', `https://explorer.solana.com/address/${VAULT}?cluster=devnet\n`],
  ])('links to the explorer on %s, on a terminal only', async (name, link) => {
    const value = report({ cluster: { name, genesisHash: 'genesis' } });
    expect((await run(value, [], TERMINAL)).stdout).toContain(link);
    expect((await run(value, ['--output', 'human'])).stdout).not.toContain('explorer.solana.com');
    const json = (await run(value, ['--json'], TERMINAL)).stdout;
    expect(json).not.toContain('explorer.solana.com');
    expect(JSON.parse(json)).toEqual(value);
  });

  it('has no link for a cluster of somebody', async () => {
    const value = report({ cluster: { name: null, genesisHash: 'genesis' } });
    const { stdout } = await run(value, [], TERMINAL);
    expect(stdout).toContain('a cluster of its own (genesis genesis)');
    expect(stdout).not.toContain('explorer.solana.com');
  });
});
