/** `flywheel schema`: what the command line takes is valid, and what is refused for its shape is not. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { READER } from '../../../support/commands.js';
import { exampleReply } from '../../../support/fake-service.js';
import { testCli } from '../../../support/in-process.js';

const WALLET = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';
const burn = { type: 'T', proof: { a: 1 }, burnAmount: 1.5, persistOnchain: false };
const pipeline = { type: 'T', payload: { a: 1 }, actions: [{ action: 'BURN', amount: '2.5' }] };
const { proposalApproveTx, batch } = exampleReply('initBatch').value as {
  readonly proposalApproveTx: string;
  readonly batch: object;
};

async function validator(kind: string) {
  const { exit, stdout } = await testCli().run('schema', kind);
  expect(exit).toBe(0);
  const schema = JSON.parse(stdout);
  expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  formats.default(ajv, ['uuid', 'double', 'date-time']);
  return ajv.compile(schema);
}

/** Does the command line take the shape of this file? It ends with exit 0 or with a refusal that is not about the file. */
async function isTaken(kind: string, value: unknown): Promise<boolean> {
  const cli = testCli();
  writeFileSync(join(cli.home, 'f.json'), JSON.stringify(value));
  const words =
    kind === 'burns' ? ['burn-batch', 'f.json', '--dry-run'] : ['batch', 'init', 'f.json', '--dry-run'];
  return (await cli.run(...words)).exit === 0;
}

const FILES: readonly (readonly [kind: string, value: unknown, isValid: boolean])[] = [
  ['burns', [burn], true],
  [
    'burns',
    [
      { ...burn, burnAmount: '0.25' },
      { ...burn, burnAmount: '1e3' },
    ],
    true,
  ],
  ['burns', [], false],
  ['burns', { burns: [burn] }, false],
  ['burns', [{ ...burn, burnAmount: '0' }], false],
  ['burns', [{ ...burn, burnAmount: '1,5' }], false],
  ['burns', [{ ...burn, burnAmount: 0 }], false],
  ['burns', [{ ...burn, burnAmount: null }], false],
  ['burns', [{ ...burn, type: '' }], false],
  ['burns', [{ ...burn, proof: [] }], false],
  ['burns', [{ ...burn, proof: '{}' }], false],
  ['burns', [{ ...burn, more: 1 }], false],
  ['burns', [{ type: 'T', proof: {}, burnAmount: 1 }], false],
  ['burns', [7], false],
  ['pipelines', [pipeline], true],
  ['pipelines', { pipelines: [pipeline] }, true],
  [
    'pipelines',
    { $schema: './pipelines.schema.json', pipelines: [{ ...pipeline, payload: '{"a":1}' }] },
    true,
  ],
  [
    'pipelines',
    [
      {
        ...pipeline,
        actions: [
          { action: 'AIRDROP', toAddress: WALLET, amount: 1 },
          { action: 'MEMO', message: 'm' },
        ],
      },
    ],
    true,
  ],
  ['pipelines', { pipelines: [] }, false],
  ['pipelines', { pipelines: [pipeline], more: 1 }, false],
  ['pipelines', [{ ...pipeline, actions: [] }], false],
  ['pipelines', [{ ...pipeline, payload: [] }], false],
  ['pipelines', [{ ...pipeline, more: 1 }], false],
  ['pipelines', [{ ...pipeline, actions: [{ action: 'BURN', amount: -1 }] }], false],
  ['pipelines', [{ ...pipeline, actions: [{ action: 'BURN', amount: 1, toAddress: WALLET }] }], false],
  ['pipelines', [{ ...pipeline, actions: [{ action: 'AIRDROP', amount: 1 }] }], false],
  ['pipelines', [{ ...pipeline, actions: [{ action: 'SWAP', amount: 1 }] }], false],
];

describe('schema', () => {
  it.each(FILES)('of %s says of %j what the command says', async (kind, value, isValid) => {
    expect([(await validator(kind))(value), await isTaken(kind, value)]).toEqual([isValid, isValid]);
  });

  it('of pipelines takes no more than a batch holds', async () => {
    const isValid = await validator('pipelines');
    expect([1_000, 1_001].map((length) => isValid(Array.from({ length }, () => pipeline)))).toEqual([
      true,
      false,
    ]);
  });

  it('of approval takes what `batch init --out` writes, and nothing without its batch', async () => {
    const cli = testCli();
    writeFileSync(join(cli.home, 'p.json'), JSON.stringify([pipeline]));
    expect((await cli.run('batch', 'init', 'p.json', '--out', 'a.json')).exit).toBe(0);
    const isValid = await validator('approval');
    expect(isValid(JSON.parse(readFileSync(join(cli.home, 'a.json'), 'utf8')))).toBe(true);
    expect(isValid({ proposalApproveTx, batch })).toBe(true);
    expect(isValid({ proposalApproveTx })).toBe(false);
    expect(isValid({ proposalApproveTx: '', batch })).toBe(false);
    expect(isValid({ proposalApproveTx, batch: { ...batch, batchIndex: 7 } })).toBe(false);
  });

  it('fits every example of the documents', async () => {
    const pages = ['README.md', 'docs/contract.md', 'docs/real-cluster.md'].map((page) =>
      readFileSync(page, 'utf8'),
    );
    const blocks = pages.flatMap((page) =>
      [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => text ?? ''),
    );
    const [isBurns, isPipelines] = [await validator('burns'), await validator('pipelines')];
    const files = blocks
      .filter((text) => /"burnAmount"|"pipelines"/.test(text))
      .map((text) => JSON.parse(text));
    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const file of files) expect(isBurns(file) || isPipelines(file)).toBe(true);
    const { stdout } = await testCli(READER).run('help', 'files');
    const lines = stdout.split('\n').map((line) => line.trim());
    const burns = lines.find((line) => line.startsWith('[{')) ?? '';
    expect(isBurns(JSON.parse(burns))).toBe(true);
    const start = lines.findIndex((line) => line.startsWith('{ "pipelines": [ {'));
    expect(isPipelines(JSON.parse(lines.slice(start, start + 4).join(' ')))).toBe(true);
  });

  it('is readable for people, and only of files that there are', async () => {
    const { stdout } = await testCli(READER).run('schema', 'burns');
    expect(stdout).toMatch(/^\{\n {2}"\$schema"/);
    expect((await testCli().run('schema', 'keypair')).exit).toBe(2);
  });
});
