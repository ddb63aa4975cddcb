/** `flywheel whoami`: each setting with its source, and no secret. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/signer.js';
import { EXAMPLES } from '../../../../src/contract/examples.js';
import type { KeyDescription } from '../../../../src/contract/schemas/key.js';
import { READER, refusal, refuse } from '../../../support/commands.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCli, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';
import { emptyDirectory } from '../../../support/spawn.js';

const API = 'https://api.example.com/base';

async function withProfile(env: Record<string, string> = {}): Promise<TestCli> {
  const first = testCli({ stdin: 'fk_profile_key\n' });
  await first.run('profile', 'add', 'staging', '--api-url', `${API}/`, '--api-key-stdin');
  return testCli({ home: first.home, env });
}

const row = async (cli: TestCli, ...words: string[]) =>
  JSON.parse((await cli.run('whoami', ...words)).stdout);

describe('whoami', () => {
  it('shows each value with its source, and never the key', async () => {
    const rows = await row(await withProfile());
    expect(rows).toMatchObject({
      target: { value: 'remote', source: 'profile' },
      apiUrl: { value: API, source: 'profile' },
      apiKey: { value: 'set', source: 'profile' },
      maxWaitSeconds: { value: 60, source: 'default' },
      limits: [],
    });
    expect(JSON.stringify(rows)).not.toContain('fk_profile_key');
  });

  it('takes flag over environment over profile', async () => {
    const cli = await withProfile({ FLYWHEEL_API_URL: 'https://env.example', FLYWHEEL_API_KEY: 'fk_env' });
    expect(await row(cli)).toMatchObject({
      apiUrl: { value: 'https://env.example', source: 'environment' },
      apiKey: { value: 'set', source: 'environment' },
    });
    expect(await row(cli, '--api-url', 'http://127.0.0.1:1')).toMatchObject({
      apiUrl: { value: 'http://127.0.0.1:1', source: 'flag' },
    });
    expect(await row(cli, '--local')).toMatchObject({ target: { value: 'embedded', source: 'flag' } });
  });

  it("never lends a profile's key to another address", async () => {
    const cli = await withProfile();
    expect((await row(cli, '--api-url', 'https://other.example')).apiKey.value).toBe(null);
    expect((await row(cli, '--local')).apiKey.value).toBe(null);
  });

  it("sends a profile's key to its own address, whoever names it", async () => {
    const cli = await withProfile();
    const { value: own } = (await row(cli)).apiUrl;
    const named = await row(cli, '--api-url', String(own));
    expect(named).toMatchObject({ apiUrl: { source: 'flag' }, apiKey: { value: 'set', source: 'profile' } });
  });

  it('names the file of a keypair, and says of one in the environment only that it is there', async () => {
    expect((await row(testCli({ env: { FLYWHEEL_KEYPAIR: 'id.json' } }))).keypair).toEqual({
      ...{ value: 'id.json', source: 'environment' },
    });
    const key = '5'.repeat(88);
    const { stdout } = await testCli({ env: { FLYWHEEL_KEYPAIR: key } }).run('whoami');
    expect(JSON.parse(stdout).keypair.value).toBe('a key, not a file');
    expect(stdout).not.toContain(key);
  });

  it('names whose keypair a command would take, also that of the Solana CLI', async () => {
    const home = emptyDirectory();
    const keypair = generateKeypair();
    const file = join(home, 'id.json');
    writeFileSync(file, JSON.stringify([...keypair]), { mode: 0o600 });
    mkdirSync(join(home, '.config/solana/cli'), { recursive: true });
    writeFileSync(join(home, '.config/solana/cli/config.yml'), `keypair_path: ${file}\n`);
    const rows = await row(testCli({ home }));
    const source = 'solana config';
    expect([rows.keypair, rows.owner]).toEqual([
      { value: file, source },
      { value: createKeypairSigner(keypair).address, source },
    ]);
    chmodSync(file, 0o644);
    const exposed = await row(testCli({ home }));
    expect(exposed.owner).toEqual({ value: null, source, problem: expect.stringContaining(file) });
  });

  it('says which chain it is, and which key only when that is to be asked', async () => {
    const chain = { kind: 'ledger', name: null, genesisHash: 'hash' } as const;
    const openers = { dataChain: async () => chain };
    const unasked = await row(
      testCli({ openers: { ...openers, openService: async () => refuse('ERR_INTERNAL', 'Asked.') } }),
    );
    expect([unasked.chain, 'key' in unasked]).toEqual([chain, false]);
    const service = fakeService();
    const key = EXAMPLES.describeKey.response as KeyDescription;
    expect((await row(testCli({ openers, service }), '--check')).key).toEqual(key);
    const { stdout } = await testCli({ ...READER, openers, service }).run('whoami', '--check');
    expect(stdout).toMatch(/^chain +the embedded ledger, genesis hash$/m);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      ` key ${key.id} (burn, airdrop; all proof types), for FLY ${key.mintAddress} `,
    );
  });

  it('says that a service cannot tell which key it is, and nothing else of one that refuses it', async () => {
    const service = fakeService();
    service.answer('describeKey', () => refuse('ERR_NOT_FOUND', 'There is nothing here.'));
    expect((await row(testCli({ service }), '--check')).key).toBeNull();
    const { stdout } = await testCli({ ...READER, service }).run('whoami', '--check');
    expect(stdout).toMatch(/^key +this service does not say$/m);
    service.answer('describeKey', () => refuse('ERR_UNAUTHORIZED', 'No such key.'));
    expect((await refusal(testCli({ service }), 'whoami', '--check'))[1]).toBe('ERR_UNAUTHORIZED');
  });

  it('shows what the flywheel of the data directory is pinned to, and why that cannot be told', async () => {
    const pins = {
      ...{
        multisig: namedAddress('multisig'),
        owner: namedAddress('owner'),
        operator: namedAddress('operator'),
      },
      ...{ vaultIndex: 0, mint: namedAddress('mint'), facts: null },
    };
    const source = 'data directory';
    expect(await row(testCli({ openers: { dataPins: async () => pins } }))).toMatchObject({
      multisig: { value: pins.multisig, source },
      mint: { value: pins.mint, source },
      pinnedOwner: { value: pins.owner, source },
    });
    const openers = { dataPins: async () => refuse('ERR_STORE_UNAVAILABLE', 'The store is damaged.') };
    expect((await row(testCli({ openers }))).multisig).toEqual({
      ...{ value: null, source, problem: 'The store is damaged.' },
    });
    const { stdout } = await testCli({ ...READER, openers }).run('whoami');
    expect(stdout).toMatch(/^multisig +none \(data directory\)\n +The store is damaged\.$/m);
  });

  it('tells people one setting a line', async () => {
    const { stdout } = await testCli(READER).run('whoami', '--timeout', '5');
    const lines = stdout.split('\n').map((line) => line.replace(/ +/g, ' '));
    expect(lines).toEqual(
      expect.arrayContaining([
        'target embedded (default)',
        'apiKey none (default)',
        'timeoutSeconds 5 (flag)',
      ]),
    );
  });

  it.each([
    'ftp://a.example',
    'https://user:secret@a.example',
    'https://user@a.example',
    'https://:secret@a.example',
    'https://a.example/?key=1',
    'https://a.example/#key',
    'not a url',
  ])('refuses the address %s', async (url) => {
    const [exit, code, message] = await refusal(testCli(), 'whoami', '--api-url', url);
    expect([exit, code]).toEqual([2, 'ERR_CONFIG_INVALID']);
    expect(message).not.toContain('secret');
  });

  it('takes no argument', async () => {
    expect((await refusal(testCli(), 'whoami', 'staging')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
