/** `flywheel schema`: input that the command line accepts is valid, and input refused for its shape is not. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { beforeAll, describe, expect, it } from 'vitest';
import { testCli } from '../../../support/in-process.js';

const WALLET = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';
const burn = { type: 'T', proof: { a: 1 }, burnAmount: 1.5, persistOnchain: false };
const pipeline = { type: 'T', payload: { a: 1 }, actions: [{ action: 'BURN', amount: '2.5' }] };
const acting = (...actions: readonly object[]) => [{ ...pipeline, actions }];

const schemas = new Map<string, ValidateFunction>();
beforeAll(async () => {
  for (const kind of ['burns', 'pipelines', 'approval']) {
    const schema = JSON.parse((await testCli().run('schema', kind)).stdout);
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    formats.default(ajv, ['uuid', 'double', 'date-time']);
    schemas.set(kind, ajv.compile(schema));
  }
});
const isValid = (kind: string, value: unknown): boolean => schemas.get(kind)?.(value) === true;

const BURNS: readonly (readonly [value: unknown, isValid: boolean])[] = [
  ...[[burn], [{ ...burn, burnAmount: '0.25' }], [{ ...burn, burnAmount: '1e3' }]].map(
    (one) => [one, true] as const,
  ),
  ...[
    ...[[], { burns: [burn] }, [7], [{ type: 'T', proof: {}, burnAmount: 1 }], [{ ...burn, more: 1 }]],
    ...[[{ ...burn, type: '' }], [{ ...burn, proof: [] }], [{ ...burn, proof: '{}' }]],
    ...['0', '1,5', 0, null].map((burnAmount) => [{ ...burn, burnAmount }]),
  ].map((one) => [one, false] as const),
];
const PIPELINES: readonly (readonly [value: unknown, isValid: boolean])[] = [
  ...[
    ...[[pipeline], { pipelines: [pipeline] }],
    { $schema: './pipelines.schema.json', pipelines: [{ ...pipeline, payload: '{"a":1}' }] },
    acting({ action: 'AIRDROP', toAddress: WALLET, amount: 1 }, { action: 'MEMO', message: 'm' }),
  ].map((one) => [one, true] as const),
  ...[
    ...[{ pipelines: [] }, { pipelines: [pipeline], more: 1 }, [{ ...pipeline, payload: [] }]],
    ...[[{ ...pipeline, more: 1 }], acting(), acting({ action: 'BURN', amount: -1 })],
    ...[acting({ action: 'BURN', amount: 1, toAddress: WALLET }), acting({ action: 'AIRDROP', amount: 1 })],
    acting({ action: 'SWAP', amount: 1 }),
  ].map((one) => [one, false] as const),
];

describe('schema', () => {
  it.each([
    ['burns', ['burn-batch'], BURNS],
    ['pipelines', ['batch', 'init'], PIPELINES],
  ] as const)('of %s says of each file what the command says', async (kind, words, files) => {
    for (const [value, expected] of files) {
      const cli = testCli();
      writeFileSync(join(cli.home, 'f.json'), JSON.stringify(value));
      const isTaken = (await cli.run(...words, 'f.json', '--dry-run')).exit === 0;
      expect([value, isValid(kind, value), isTaken]).toEqual([value, expected, expected]);
    }
  });

  it('of pipelines takes no more than a batch holds', () => {
    for (const length of [1_000, 1_001])
      expect(
        isValid(
          'pipelines',
          Array.from({ length }, () => pipeline),
        ),
      ).toBe(length === 1_000);
  });

  it('of approval takes what `batch init --out` writes, and nothing without its batch', async () => {
    const cli = testCli();
    writeFileSync(join(cli.home, 'p.json'), JSON.stringify([pipeline]));
    expect((await cli.run('batch', 'init', 'p.json', '--out', 'a.json')).exit).toBe(0);
    const { proposalApproveTx, batch, ...rest } = JSON.parse(readFileSync(join(cli.home, 'a.json'), 'utf8'));
    expect(isValid('approval', { proposalApproveTx, batch, ...rest })).toBe(true);
    expect(isValid('approval', { proposalApproveTx, batch })).toBe(true);
    for (const bad of [{ proposalApproveTx }, { proposalApproveTx: '', batch }])
      expect(isValid('approval', bad)).toBe(false);
    expect(isValid('approval', { proposalApproveTx, batch: { ...batch, batchIndex: 7 } })).toBe(false);
  });

  it('fits every example of the documents', async () => {
    const texts = ['README.md', 'docs/contract.md', 'docs/real-cluster.md'].map((page) =>
      readFileSync(page, 'utf8'),
    );
    const blocks = texts.flatMap((text) =>
      [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => json ?? ''),
    );
    const files = blocks
      .filter((text) => /"burnAmount"|"pipelines"/.test(text))
      .map((text) => JSON.parse(text));
    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const file of files) expect(isValid('burns', file) || isValid('pipelines', file)).toBe(true);
  });
});
