/** `flywheel register`: what of its words becomes what, what is shown, and who is asked what. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/signer.js';
import type { Registration } from '../../../../src/contract/admin.js';
import type {
  Registrar,
  RegistrationInput,
  RegistrationPlan,
} from '../../../../src/contract/registration.js';
import { keypairText } from '../../../../src/files/keypair-file.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';
import { emptyDirectory } from '../../../support/spawn.js';

const MINT = namedAddress('mint');
const OWNER = namedAddress('owner');
const GENESIS = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';

const plan = (more: Partial<RegistrationPlan> = {}): RegistrationPlan => ({
  cluster: { name: 'devnet', genesisHash: GENESIS },
  ...{ mint: MINT, name: 'SHOP', symbol: 'SHOP', decimals: 6, tokenProgram: 'token', vaultIndex: 0 },
  ...{ owner: OWNER, operator: namedAddress('operator'), burnWallet: namedAddress('burn wallet') },
  ...{ multisig: namedAddress('multisig'), vault: namedAddress('vault') },
  steps: [
    { what: 'multisig', address: namedAddress('multisig'), isThere: false, rentLamports: '2268960' },
    { what: 'vaultTokenAccount', address: namedAddress('at'), isThere: true, rentLamports: '0' },
  ],
  costs: {
    ...{ rentLamports: '2268960', squadsFeeLamports: '100000000', squadsTreasury: namedAddress('squads') },
    ...{ feeLamports: '10000', maxPriorityFeeLamports: '50000', totalLamports: '102328960' },
    ...{ operatorLamports: '1000000000', missingLamports: '0' },
  },
  facts: { threshold: '2', 'mint.mintAuthority': 'none' },
  irreversible: ['The multisig cannot be closed.'],
  warnings: ['Somebody can make more of the token.'],
  state: 'new',
  ...more,
});

const registration: Registration = {
  ...{ tokenId: 't', name: 'SHOP', symbol: 'SHOP', mintAddress: MINT, decimals: 6, tokenProgram: 'token' },
  ...{ tokenGeneration: 'v1', flywheelId: 'f', multisig: namedAddress('multisig'), vaultIndex: 0 },
  ...{ vaultAddress: namedAddress('vault'), burnWallet: namedAddress('burn wallet'), owner: OWNER },
  ...{ operator: namedAddress('operator'), proofTypes: ['A'], dailyLimits: { burn: null, airdrop: null } },
};

interface Seen {
  input?: RegistrationInput;
  takeOver?: string | null;
  cluster?: string;
  performed: number;
  closed: number;
}

function world(of: RegistrationPlan, options: TestCliOptions = {}) {
  const seen: Seen = { performed: 0, closed: 0 };
  const registrar: Registrar = {
    plan: async (input, takeOver) => {
      Object.assign(seen, { input, takeOver });
      return of;
    },
    perform: async () => {
      seen.performed += 1;
      const apiKey = { id: 'k', key: 'fk_secret', scopes: ['burn'] as const };
      return { cluster: of.cluster, registration, apiKey, txHash: 'signature' };
    },
    close: async () => {
      seen.closed += 1;
    },
  };
  const home = emptyDirectory();
  const keypair = generateKeypair();
  writeFileSync(join(home, 'operator.json'), keypairText(keypair), { mode: 0o600 });
  const cli = testCli({
    home,
    ...options,
    openers: {
      openRegistrar: async (_settings, cluster) => {
        seen.cluster = cluster;
        return registrar;
      },
    },
  });
  const words = ['--cluster', 'devnet', '--mint', MINT, '--owner', OWNER];
  const register = (...more: string[]) =>
    cli.run('register', ...words, '--operator-keypair', 'operator.json', ...more);
  return { seen, register, operator: createKeypairSigner(keypair).address };
}

const TERMINAL = { tty: { stdin: true, stdout: true, stderr: true } };

describe('register', () => {
  it('hands on what was typed, and registers with consent', async () => {
    const { seen, register, operator } = world(plan());
    const { exit, stdout } = await register(
      ...['--yes', '--proof-type', 'A', '--daily-burn-cap', '12.5', '--vault-index', '3', '--symbol', 'SHOP'],
      ...['--min-operator-sol', '0.2', '--take-over', 'id'],
    );
    expect(exit).toBe(0);
    expect(seen).toMatchObject({ cluster: 'devnet', takeOver: 'id', performed: 1, closed: 1 });
    const { operator: keypair, ...input } = seen.input as RegistrationInput;
    expect(createKeypairSigner(keypair as Uint8Array).address).toBe(operator);
    expect(input).toEqual({
      ...{ mint: MINT, owner: OWNER, multisig: null, burnWallet: null, vaultIndex: 3, name: null },
      ...{ symbol: 'SHOP', tokenGeneration: 'v1', proofTypes: ['A'], scopes: ['burn', 'airdrop'] },
      ...{ dailyBurn: '12.5', dailyAirdrop: null, minOperatorSol: 200_000_000n, maxBatchRent: undefined },
    });
    expect(JSON.parse(stdout)).toMatchObject({ apiKey: { key: 'fk_secret' }, txHash: 'signature' });
  });

  it('shows the whole plan, and asks for the name of the cluster', async () => {
    const { seen, register } = world(plan(), { ...TERMINAL, answers: ['devnet'] });
    const { exit, stderr, questions } = await register();
    expect({ exit, questions }).toEqual({ exit: 0, questions: ['Type devnet to register: '] });
    for (const text of [
      `Registration of SHOP on devnet (genesis ${GENESIS})`,
      namedAddress('multisig'),
      'to be created, rent 0.00226896 SOL',
      'fee of Squads',
      'at most 0.10232896 SOL',
      'The multisig cannot be closed.',
      'Somebody can make more of the token.',
    ])
      expect(stderr).toContain(text);
    expect(seen.performed).toBe(1);
  });

  it.each([
    ['y', plan(), 'Type devnet to register: '],
    ['', plan({ cluster: { name: null, genesisHash: GENESIS } }), 'Type register to register: '],
    ['no', plan({ state: 'unfinished' }), 'Type devnet to carry on: '],
    ['no', plan({ state: 'finished' }), 'Type devnet to pin it as it is now: '],
  ])('does nothing for the answer %j', async (answer, of, question) => {
    const { seen, register } = world(of, { ...TERMINAL, answers: [answer] });
    const { exit, questions, stderr } = await register();
    expect({ exit, questions }).toEqual({ exit: 130, questions: [question] });
    expect(stderr).toContain('ERR_DECLINED');
    expect(seen).toMatchObject({ performed: 0, closed: 1 });
  });

  it('only shows with --dry-run, and asks nobody', async () => {
    const { seen, register } = world(plan());
    const { exit, stdout } = await register('--dry-run');
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      dryRun: true,
      state: 'new',
      multisig: namedAddress('multisig'),
    });
    expect(seen).toMatchObject({ performed: 0, closed: 1 });
  });

  it.each([
    [['--mint', 'nobody'], 'ERR_INPUT_INVALID', '--mint'],
    [['--owner', 'nobody'], 'ERR_INPUT_INVALID', '--owner'],
    [['--multisig', 'nobody'], 'ERR_INPUT_INVALID', '--multisig'],
    [['--vault-index', '256'], 'ERR_INPUT_INVALID', '--vault-index'],
    [['--daily-burn-cap', 'much'], 'ERR_INPUT_INVALID', '--daily-burn-cap'],
    [['--name', ' '], 'ERR_INPUT_INVALID', '--name'],
    [['--burn-wallet', 'missing.json'], 'ERR_KEYPAIR_INVALID', 'missing.json'],
    [['--api-url', 'https://api.example'], 'ERR_USAGE', 'data directory'],
    [['--operator', OWNER], 'ERR_USAGE', '--operator for a key that is kept elsewhere'],
    [['--operator-signer', 'kms'], 'ERR_USAGE', 'exclude each other'],
    [['--burn-wallet', OWNER], 'ERR_USAGE', 'nobody is named who signs for this address'],
  ])('refuses %j', async (words, code, text) => {
    const { seen, register } = world(plan());
    const { stderr } = await register('--yes', ...words);
    expect(JSON.parse(stderr.trim())).toMatchObject({ error: code, message: expect.stringContaining(text) });
    expect(seen.performed).toBe(0);
  });

  it('does not take silence for consent', async () => {
    const { seen, register } = world(plan());
    const { exit, stderr } = await register();
    expect(exit).toBe(2);
    expect(stderr).toContain('ERR_USAGE');
    expect(seen.performed).toBe(0);
  });
});
