/** Every problem of a file with its line and column: one a line for people, as a list in JSON, and not more than one can read. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonOffsets, positionsOf } from '../../../../src/values/json-places.js';
import { READER } from '../../../support/commands.js';
import { testCli } from '../../../support/in-process.js';

const GOOD = '{"type":"T","proof":{"a":"}]\\"\\\\"},"burnAmount":1,"persistOnchain":false}';

/** What a command prints on standard error of a file that it does not take. */
async function complaints(name: string, text: string, words: readonly string[], isPerson = false) {
  const cli = testCli(isPerson ? READER : {});
  writeFileSync(join(cli.home, name), text);
  const { exit, stderr } = await cli.run(...words, name);
  expect([exit, cli.service.calls]).toEqual([2, []]);
  return stderr;
}

const ARRAY = `[
  ${GOOD},
  { "type": "T", "proof": {}, "burnAmount": -1,
    "persistOnchain": "no", "more": 1 }
]`;

describe('problems of a file', () => {
  it('are one a line for people, each with its place', async () => {
    const stderr = await complaints('b.json', ARRAY, ['burn-batch'], true);
    expect(stderr.split('\n').slice(0, 4)).toEqual([
      'error: b.json: 3 problems; nothing was sent. (ERR_INPUT_INVALID)',
      '  b.json:3:45: [1].burnAmount: expected a positive number',
      '  b.json:4:23: [1].persistOnchain: expected true or false',
      '  b.json:3:3: [1]: unknown key "more"',
    ]);
  });

  it('are a list in JSON', async () => {
    const { file, problemCount, problems } = JSON.parse(await complaints('b.json', ARRAY, ['burn-batch']));
    expect([file, problemCount]).toEqual(['b.json', 3]);
    expect(problems[0]).toEqual({
      ...{ line: 3, column: 45, index: 1, path: '[1].burnAmount', message: 'expected a positive number' },
    });
  });

  it('of NDJSON stand on their line, also where it is no JSON', async () => {
    const lines = [
      GOOD,
      '',
      '  {"type":"T","proof":{},"burnAmount":0,"persistOnchain":true}',
      ' {"type":}',
      '7',
    ];
    const { message, problems } = JSON.parse(
      await complaints('b.ndjson', lines.join('\r\n'), ['burn-batch']),
    );
    expect(problems).toEqual([
      { line: 3, column: 39, index: 1, path: 'burnAmount', message: 'expected a positive number' },
      { line: 4, column: 10, index: 2, message: 'Unexpected "}" (column 10)' },
      expect.objectContaining({ line: 5, column: 1, index: 3 }),
    ]);
    expect(message).toContain('line 3.burnAmount: expected a positive number');
  });

  it('of pipelines are found in their actions', async () => {
    const text =
      '{ "pipelines": [\n {"type":"T","payload":{"actions":[]},"actions":[{"action":"MEMO","message":"m"},\n  {"action":"BURN","amount":"x"}]} ], "other": 1 }';
    const { problems } = JSON.parse(await complaints('p.json', text, ['batch', 'init']));
    const places = problems.map(({ line, column, path }: Record<string, unknown>) => [line, column, path]);
    expect(places).toEqual([
      [3, 48, undefined],
      [3, 29, 'pipelines[0].actions[1].amount'],
    ]);
  });

  it('that end the reading have their place as well', async () => {
    const { problems } = JSON.parse(
      await complaints('b.json', `[\n  ${GOOD},\n  {"a":1 "b"}]`, ['burn-batch']),
    );
    expect(problems).toEqual([{ line: 3, column: 10, message: 'Expected "," or "}"' }]);
  });

  it('are cut where nobody reads on, with their number', async () => {
    const text = Array.from({ length: 3_000 }, () => '{"type":1}').join('\n');
    const machine = await complaints('b.ndjson', text, ['burn-batch']);
    const { problemCount, problems } = JSON.parse(machine);
    expect([problemCount, problems.length, machine.length < 400_000]).toEqual([12_000, 1_000, true]);
    const person = await complaints('b.ndjson', text, ['burn-batch'], true);
    expect(person.split('\n').length).toBeLessThan(110);
    expect(person).toContain('  … and 11,900 more');
  });

  it('of standard input that looks like a table say how to read it', async () => {
    const cli = testCli({ stdin: 'type,amount\nT,1\n' });
    const { exit, stderr } = await cli.run('burn-batch', '-');
    expect([exit, JSON.parse(stderr).hint]).toEqual([2, 'If it is CSV, add --format csv.']);
  });
});

describe('jsonOffsets', () => {
  it('finds every value of any JSON', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.integer({ min: 0, max: 3 }), (compact, indent) => {
        const value: unknown = JSON.parse(compact);
        const text = JSON.stringify(value, null, indent);
        const all = valuesIn(value, []);
        const offsets = jsonOffsets(
          text,
          all.map(([path]) => path),
        );
        for (const [at, [, one]] of all.entries())
          expect(text.slice(offsets[at])).toSatisfy((rest: string) =>
            rest.startsWith(JSON.stringify(one, null, indent).slice(0, 1)),
          );
        // What stands there is what the path leads to, unless it stretches over lines.
        for (const [at, [, one]] of all.entries())
          if (one === null || typeof one !== 'object')
            expect(text.slice(offsets[at]).startsWith(JSON.stringify(one))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('stays at what holds a value that is not there', () => {
    const text = '{ "a": [ 1, { "b": 2 } ] }';
    expect(jsonOffsets(text, [['a', 1, 'c', 'd'], ['x'], ['a', 7]])).toEqual([12, 0, 7]);
    expect(positionsOf('a\nbc\n', [3, 0, 2])).toEqual([
      { line: 2, column: 2 },
      { line: 1, column: 1 },
      { line: 2, column: 1 },
    ]);
  });
});

function valuesIn(value: unknown, path: readonly PropertyKey[]): [readonly PropertyKey[], unknown][] {
  const inner = value !== null && typeof value === 'object' ? Object.entries(value) : [];
  return [[path, value], ...inner.flatMap(([key, one]) => valuesIn(one, [...path, key]))];
}
