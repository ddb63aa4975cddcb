/** What is to go: that it still works. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RawRequest } from '../../../src/contract/raw-api.js';
import { ownerKeypair } from '../../support/batch-on-chain.js';
import { localWith } from '../../support/commands.js';
import { testCli } from '../../support/in-process.js';

describe('what is to go', () => {
  it('api sends what acts under one key, and prints the body as it came', async () => {
    const sent: RawRequest[] = [];
    const send = async (request: RawRequest, { onAnswer }: { onAnswer: (answer: never) => void }) => {
      const answer = { status: 200, headers: {}, text: '{"ok":  true}' };
      sent.push(request);
      onAnswer(answer as never);
      return answer;
    };
    const cli = testCli({
      opened: { rawApi: async () => ({ send, close: async () => undefined }) as never },
    });
    const { exit, stdout } = await cli.run('api', 'POST', '/v1/tokenomics/burn', '-F', 'burnAmount=0.1');
    expect([exit, stdout, sent]).toMatchObject([0, '{"ok":  true}', [{ body: '{"burnAmount":0.1}' }]]);
    expect(await cli.pending()).toEqual([]);
  });

  it('export and import print what they moved', async () => {
    const moved = { rows: 12, tables: [], sha256: 'cd' };
    const exportStore = async (file: string) => ({ ...moved, file });
    const importStore = async () => ({ ...moved, projects: 2, wasThere: false });
    const cli = testCli({ openers: localWith({ exportStore, importStore }) });
    expect(JSON.parse((await cli.run('export', '/a')).stdout)).toMatchObject({ rows: 12, file: '/a' });
    expect(JSON.parse((await cli.run('import', '/a')).stdout)).toMatchObject({ rows: 12, projects: 2 });
  });

  it('wallet encrypt and decrypt give back the keypair', async () => {
    const passphrase = 'correct horse 電池';
    const cli = testCli({ tty: { stdin: true, stderr: true }, answers: Array(3).fill(passphrase) });
    writeFileSync(join(cli.home, 'id.json'), JSON.stringify([...ownerKeypair]), { mode: 0o600 });
    expect((await cli.run('wallet', 'encrypt', 'id.json', '--out', 'e.json')).exit).toBe(0);
    expect((await cli.run('wallet', 'decrypt', 'e.json', '--out', 'back.json')).exit).toBe(0);
    expect(JSON.parse(readFileSync(join(cli.home, 'back.json'), 'utf8'))).toEqual([...ownerKeypair]);
  });
});
