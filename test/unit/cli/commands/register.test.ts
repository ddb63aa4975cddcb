/** `flywheel register`: options to input, and the prompts before anything is sent. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKeypairSigner } from '../../../../src/chain/transaction/sign.js';
import type { RegistrationInput } from '../../../../src/contract/admin.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';
import { owner as operator, ownerKeypair } from '../../batch-on-chain.js';
import { PLAN, registering } from '../registration.js';
import { person } from '../single-command.js';

const { mint, owner } = PLAN;
const WORDS = ['register', '--cluster', 'devnet', '--mint', mint, '--owner', owner];

function world(plan = PLAN, options: TestCliOptions = {}) {
  const seen: { input?: RegistrationInput; done: string[] } = { done: [] };
  const openers: TestCliOptions['openers'] = {
    register: async (settings, cluster, terms) => {
      Object.assign(seen, { input: terms.input });
      seen.done.push(cluster);
      return registering(plan, seen.done)(settings, cluster, terms);
    },
  };
  const cli = testCli({ ...options, openers });
  writeFileSync(join(cli.home, 'operator.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  return { cli, seen, words: [...WORDS, '--operator-keypair', 'operator.json'] };
}

describe('register', () => {
  it('hands on what was typed, and registers with consent', async () => {
    const { cli, seen, words } = world();
    const { exit, stdout } = await cli.run(
      ...[...words, '--yes', '--proof-type', 'A', '--daily-burn', '12.5', '--vault-index', '3'],
      ...['--symbol', 'SHOP', '--min-operator-sol', '0.2'],
    );
    expect([exit, JSON.parse(stdout)]).toMatchObject([
      0,
      { apiKey: { id: 'k', file: expect.stringMatching(/api-key$/) }, txHash: 'signature' },
    ]);
    expect(seen.done).toEqual(['devnet', 'performed']);
    const { operator: keypair, ...input } = seen.input as RegistrationInput;
    expect(createKeypairSigner(keypair as Uint8Array).address).toBe(operator);
    expect(input).toEqual({
      ...{ mint, owner, multisig: null, burnWallet: null, vaultIndex: 3, name: null },
      ...{ symbol: 'SHOP', tokenGeneration: 'v1', proofTypes: ['A'], scopes: ['burn', 'airdrop'] },
      ...{ dailyBurn: '12.5', dailyAirdrop: null, minOperatorSol: 200_000_000n, maxBatchRent: undefined },
    });
  });

  it.each([
    ['devnet', PLAN, 0],
    ['y', PLAN, 130],
    ['', { ...PLAN, cluster: { ...PLAN.cluster, name: null } }, 130],
    ['register', { ...PLAN, cluster: { ...PLAN.cluster, name: null } }, 0],
    ['no', { ...PLAN, state: 'unfinished' as const }, 130],
    ['no', { ...PLAN, state: 'finished' as const }, 130],
  ])('asks for the name of the cluster, to which %j is the answer', async (answer, plan, exit) => {
    const { cli, seen, words } = world(plan, person(answer));
    const ended = await cli.run(...words);
    expect([ended.exit, ended.questions]).toEqual([
      exit,
      [expect.stringContaining(plan.cluster.name ?? 'register')],
    ]);
    expect(seen.done).toEqual(exit === 0 ? ['devnet', 'performed'] : ['devnet']);
  });
});
