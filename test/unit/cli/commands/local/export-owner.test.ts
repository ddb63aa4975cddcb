/** `flywheel local export-owner`: where the keypair goes, and what is said of it. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { localWith, READER, refusal, refuse } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const address = namedAddress('owner');
const openers = localWith({ exportOwner: async (keypair) => ({ address, keypair }) });

describe('local export-owner', () => {
  it('writes to a path beside the user, and prints it whole', async () => {
    const cli = testCli({ openers });
    const { exit, stdout, stderr } = await cli.run('local', 'export-owner', 'keys/owner.json');
    const keypair = join(cli.home, 'keys/owner.json');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify({ address, keypair })}\n`, '']);
  });

  it('says for people whose keypair it is', async () => {
    const { stdout } = await testCli({ ...READER, openers }).run('local', 'export-owner', '/tmp/o.json');
    expect(stdout).toBe(`Wrote the keypair of ${address} to /tmp/o.json.\n`);
  });

  it('says so when there is such a file', async () => {
    const taken = localWith({
      exportOwner: async () => refuse('ERR_INPUT_INVALID', 'o.json: there is a file.'),
    });
    const answer = await refusal(testCli({ openers: taken }), 'local', 'export-owner', 'o.json');
    expect(answer).toEqual([2, 'ERR_INPUT_INVALID', 'o.json: there is a file.']);
  });

  it('needs the name of a file, and takes one', async () => {
    const cli = testCli();
    expect(await refusal(cli, 'local', 'export-owner')).toEqual([
      2,
      'ERR_USAGE',
      expect.stringContaining("'file'"),
    ]);
    expect((await refusal(cli, 'local', 'export-owner', 'a', 'b'))[0]).toBe(2);
  });
});
