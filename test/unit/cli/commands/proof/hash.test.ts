/** `flywheel proof hash`: the same hash however the proof is written. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { READER, refusal } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';
import { canonicalHash } from '../../../../support/oracle.js';

const HASH = createHash('sha256').update('{"a":"é","b":[1,true]}').digest('hex');

describe('proof hash', () => {
  it.each([
    '{"a":"é","b":[1,true]}',
    '{ "b": [1.0, true],\r\n  "a": "\\u00e9" }\n',
    '\ufeff{"b":[1e0,true],"a":"é"}',
  ])('is that of the canonical JSON for %j', async (text) => {
    const { exit, stdout, stderr } = await testCli({ stdin: text }).run('proof', 'hash', '-');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify({ hash: HASH })}\n`, '']);
  });

  it.each(['9007199254740992', '1E30', '1e21', '-295147905179352830000', '1.7976931348623157e308'])(
    'is that of RFC 8785 for the number %s, which a double carries',
    async (number) => {
      const { exit, stdout } = await testCli({ stdin: `{"n":${number}}` }).run('proof', 'hash', '-');
      expect([exit, JSON.parse(stdout)]).toEqual([0, { hash: canonicalHash({ n: Number(number) }) }]);
    },
  );

  it('reads a file, and tells people the hash and nothing else', async () => {
    const cli = testCli(READER);
    writeFileSync(join(cli.home, 'proof.json'), '{"a":"é","b":[1,true]}');
    expect((await cli.run('proof', 'hash', 'proof.json')).stdout).toBe(`${HASH}\n`);
  });

  it.each([
    ['[]', 'standard input: expected a JSON object.'],
    ['{"a":1,"a":1}', 'standard input: Duplicate key "a" (line 1, column 8).'],
    ['{"a":9007199254740993}', '9007199254740993'],
    ['{"a":1e400}', '1e400'],
    ['', 'standard input: It is empty.'],
    [JSON.stringify({ a: 'x'.repeat(65_536) }), 'at most 65536 are allowed'],
  ])('refuses %.20j', async (stdin, message) => {
    expect(await refusal(testCli({ stdin }), 'proof', 'hash', '-')).toEqual([
      2,
      'ERR_INPUT_INVALID',
      expect.stringContaining(message),
    ]);
  });

  it('refuses a file that is missing, and no file at all', async () => {
    expect((await refusal(testCli(), 'proof', 'hash', 'none.json'))[2]).toBe(
      'none.json: there is no such file.',
    );
    expect((await refusal(testCli(), 'proof', 'hash')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
