/** CSV as people have it: what is read of it, and what is refused with line and column. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { proofHash } from '../../../../src/values/digest.js';
import { READER } from '../../../support/commands.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

const WALLET = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';

/** A service that burns everything. */
function burning() {
  const service = fakeService();
  service.answer('burnBatch', ({ input }) => ({
    meta: { replayed: false },
    value: {
      success: (input as readonly BurnRequest[]).map(({ proof, type }) => ({
        ...{
          result: 'SUCCESS',
          hash: proofHash(proof),
          txHash: 'tx',
          type,
          dateBurned: '2026-01-31T12:00:00.000Z',
        },
      })),
      errors: [],
    },
  }));
  return service;
}

async function run(name: string, text: string, words: readonly string[], options: TestCliOptions = {}) {
  const cli = testCli({ service: burning(), ...options });
  writeFileSync(join(cli.home, name), text);
  const [command = '', ...more] = words;
  const { exit, stderr } = await cli.run(...command.split(' '), name, ...more);
  return { exit, stderr, input: cli.service.calls[0]?.input };
}

const problemsOf = (stderr: string): readonly string[] =>
  (JSON.parse(stderr).problems as { line: number; column: number; path?: string; message: string }[]).map(
    ({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`,
  );

const taken = (burn: Partial<BurnRequest>) => ({
  type: 'T',
  proof: { id: '1' },
  burnAmount: 1.5,
  persistOnchain: false,
  ...burn,
});

describe('burns in CSV', () => {
  it.each([
    ['a column a key', 'type,amount,proof.id\nT,1.5,1\n', [], [taken({})]],
    [
      'JSON in a column',
      'type,burnAmount,proof,persistOnchain\nT,1.5,"{""id"":""1""}",TRUE\n',
      [],
      [taken({ persistOnchain: true })],
    ],
    [
      'a byte order mark, CRLF, empty lines and rows',
      '\ufefftype,amount,proof.id\r\n\r\nT,1.5,1\r\n,,\r\nT,2,1',
      [],
      [taken({}), taken({ burnAmount: 2 })],
    ],
    ['semicolons', 'type;amount;proof.id\nT;1.5;1\n', [], [taken({})]],
    ['tabs, by another name', 'type\tamount\tproof.id\nT\t1.5\t1\n', ['--format', 'csv'], [taken({})]],
    ['a separator that is stated', 'sep=;\ntype;amount;proof.id\nT;1.5;1\n', [], [taken({})]],
    [
      'names of its own',
      'Kind,Tokens,Order\nT,1.5,1\n',
      ['--column', 'amount=Tokens', '--column', 'type=Kind', '--column', 'proof.id=Order'],
      [taken({})],
    ],
    [
      'quotes and lines in cells',
      'type,amount,proof.id\nT,1.5,"a ""b""\n, c"\n',
      [],
      [taken({ proof: { id: 'a "b"\n, c' } })],
    ],
    ['empty cells of keys', 'type,amount,proof.id,proof.note\nT,1.5,1,\n', [], [taken({})]],
    [
      'more digits than a double adds up',
      'type,amount,proof.id\nT,0.1,1\nT,9007199254740991,1\n',
      [],
      [taken({ burnAmount: 0.1 }), taken({ burnAmount: 9007199254740991 })],
    ],
  ])('are read: %s', async (_what, text, words, burns) => {
    const name = words.includes('--format') ? 'burns.txt' : 'burns.csv';
    const { exit, stderr, input } = await run(name, text, ['burn-batch', ...words]);
    expect([exit, JSON.parse(stderr || '{}').message]).toEqual([0, undefined]);
    expect(input).toEqual(burns);
  });

  it('come through standard input where the format is said', async () => {
    const service = burning();
    const cli = testCli({ service, stdin: 'type,amount,proof.id\nT,1.5,1\n' });
    expect((await cli.run('burn-batch', '-', '--format', 'csv')).exit).toBe(0);
    expect(service.calls[0]?.input).toEqual([taken({})]);
  });

  it.each([
    ['1,250.5', 'thousands separators and decimal commas are not read'],
    ['12,5', 'thousands separators and decimal commas are not read'],
    ["1'250", 'thousands separators and decimal commas are not read'],
    ['1.250.000', 'thousands separators and decimal commas are not read'],
    ['1E+05', 'scientific notation may have lost digits; format the column as text'],
    ['$5', 'it has a currency sign'],
    ['-5', 'it has a sign'],
    ['five', 'it is not a decimal number'],
  ])('refuse the amount %s', async (amount, reason) => {
    const text = `type,proof.id,amount\nT,1,1\nT,2,"${amount}"\n`;
    const { exit, stderr, input } = await run('burns.csv', text, ['burn-batch']);
    expect([exit, input]).toEqual([2, undefined]);
    expect(problemsOf(stderr)).toEqual([
      `3:5 column "amount": expected digits and at most one point, such as 1250.5, got ${JSON.stringify(amount)}: ${reason}`,
    ]);
  });

  it.each([
    [
      'blanks around a value',
      'type,amount,proof.id\nT, 1,1\n',
      '2:3 column "amount": " 1" has blanks around it',
    ],
    ['no amount', 'type,amount,proof.id\nT,,1\n', '2:3 column "amount": expected a positive number'],
    [
      'an amount that no number carries',
      'type,amount,proof.id\nT,9007199254740993,1\n',
      '2:3 column "amount": "9007199254740993" cannot be sent as a JSON number without changing it',
    ],
    ['no type', 'amount,type,proof.id\n1,,1\n', '2:3 column "type": expected text'],
    ['no proof', 'type,amount,proof.id\nT,1,\n', '2:5 column "proof.id": expected a JSON object'],
    [
      'a proof that is no JSON',
      'type,amount,proof\nT,1,{a}\n',
      '2:5 column "proof": Expected a key in double quotes (line 1, column 2)',
    ],
    [
      'a word for true',
      'type,amount,proof.id,persistOnchain\n"T\n",1,1,yes\n',
      '3:7 column "persistOnchain": expected true or false',
    ],
    ['too many cells', 'type,amount,proof.id\nT,1,1,1\n', '2:1 undefined: the row has 4 cells, the header 3'],
    [
      'a quote that is not closed',
      'type,amount,proof.id\nT,1,"1\n',
      '2:1 undefined: the quotes of a cell are not closed',
    ],
    [
      'an unknown column',
      'type,Amount,proof.id\nT,1,1\n',
      '1:6 header: unknown column "Amount"; did you mean "amount"?',
    ],
    [
      'an unknown column like no other',
      'type,amount,Remarks,proof.id\nT,1,x,1\n',
      '1:13 header: unknown column "Remarks"',
    ],
    [
      'two columns of a name',
      'type,amount,amount,proof.id\nT,1,1,1\n',
      '1:13 header: there are two columns "amount"',
    ],
    [
      'two columns of a field',
      'type,amount,burnAmount,proof.id\nT,1,1,1\n',
      '1:13 header: two columns hold amount',
    ],
    ['a column without a name', 'type,amount,,proof.id\nT,1,,1\n', '1:13 header: column 3 has no name'],
    [
      'no column of amounts',
      'type,proof.id\nT,1\n',
      '1:1 header: there is no column for amount; name it: --column amount=NAME',
    ],
    [
      'a nested key',
      'type,amount,proof.a.b\nT,1,1\n',
      '1:13 header: "proof.a.b": a nested proof goes into one column "proof", as JSON',
    ],
    [
      'both forms of the proof',
      'type,amount,proof,proof.a\nT,1,{},1\n',
      '1:19 header: give either a column "proof" or columns "proof.KEY"',
    ],
  ])('refuse %s', async (_what, text, problem) => {
    const { exit, stderr, input } = await run('burns.csv', text, ['burn-batch']);
    expect([exit, input]).toEqual([2, undefined]);
    expect(problemsOf(stderr)).toContain(problem);
  });

  it('say for people where every problem is', async () => {
    const text = 'type;amount;proof.id\nT;1,5;1\nT;x;2\n';
    const { stderr } = await run('burns.csv', text, ['burn-batch'], READER);
    expect(stderr.split('\n').slice(0, 3)).toEqual([
      'error: burns.csv: 2 problems; nothing was sent. (ERR_INPUT_INVALID)',
      '  burns.csv:2:3: column "amount": expected digits and at most one point, such as 1250.5, got "1,5": thousands separators and decimal commas are not read',
      '  burns.csv:3:3: column "amount": expected digits and at most one point, such as 1250.5, got "x": it is not a decimal number',
    ]);
  });

  it.each([
    [['--column', 'amount'], 'ERR_USAGE', '--column takes field=name, got "amount".'],
    [['--column', 'amount=A', '--column', 'amount=B'], 'ERR_USAGE', '--column gives "amount" twice.'],
    [['--column', 'sum=A'], 'ERR_INPUT_INVALID', '--column sum=A: there is no field "sum"'],
    [
      ['--column', 'amount=Amuont'],
      'ERR_INPUT_INVALID',
      'there is no column "Amuont"; did you mean "amount"?',
    ],
    [
      ['--format', 'json', '--column', 'amount=A'],
      'ERR_USAGE',
      '--column is for CSV, and burns.csv is read as json.',
    ],
  ])('refuse %j', async (words, code, part) => {
    const { exit, stderr } = await run('burns.csv', 'type,amount,proof.id\nT,1,1\n', [
      'burn-batch',
      ...words,
    ]);
    expect([exit, JSON.parse(stderr).error]).toEqual([2, code]);
    expect(JSON.parse(stderr).message).toContain(part);
  });
});

describe('pipelines in CSV', () => {
  const HEADER = 'pipeline,type,payload.id,action,toAddress,amount,message\n';
  const BURN = { action: 'BURN', amount: 5 };

  it('are one action a row, grouped by a column, in their order', async () => {
    const text = `${HEADER}a,T,1,BURN,,5,\na,,,AIRDROP,${WALLET},2.5,\na,,,MEMO,,, thank you\nb,U,2,BURN,,5,\n`;
    const { exit, input } = await run('p.csv', text, ['batch init']);
    expect(exit).toBe(0);
    expect(input).toEqual({
      pipelines: [
        {
          ...{ type: 'T', payload: '{"id":"1"}' },
          actions: [
            BURN,
            { action: 'AIRDROP', toAddress: WALLET, amount: 2.5 },
            { action: 'MEMO', message: ' thank you' },
          ],
        },
        { type: 'U', payload: '{"id":"2"}', actions: [BURN] },
      ],
    });
  });

  it('are one a row without that column', async () => {
    const { input } = await run(
      'p.csv',
      'type,payload,action,Tokens\nT,"{""n"":1}",BURN,5\nT,"{""n"":2}",BURN,5\n',
      ['batch init', '--column', 'amount=Tokens'],
    );
    expect(input).toEqual({
      pipelines: [
        { type: 'T', payload: '{"n":1}', actions: [BURN] },
        { type: 'T', payload: '{"n":2}', actions: [BURN] },
      ],
    });
  });

  it.each([
    [
      'rows apart',
      'a,T,1,BURN,,5,\nb,T,2,BURN,,5,\na,,,BURN,,5,\n',
      '4:1 column "pipeline": the rows of pipeline "a" do not stand together',
    ],
    ['a row of none', ',T,1,BURN,,5,\n', '2:1 column "pipeline": expected the name of the pipeline'],
    [
      'two types',
      'a,T,1,BURN,,5,\na,U,,BURN,,5,\n',
      '3:3 column "type": another type than in the first row of the pipeline',
    ],
    [
      'two payloads',
      'a,T,1,BURN,,5,\na,,2,BURN,,5,\n',
      '3:4 column "payload.id": another payload than in the first row of the pipeline',
    ],
    [
      'a bad amount',
      'a,T,1,BURN,,5,\na,,,BURN,,"1,0",\n',
      '3:11 column "amount": expected digits and at most one point, such as 1250.5, got "1,0": thousands separators and decimal commas are not read',
    ],
    ['no amount', 'a,T,1,BURN,,,\n', '2:13 column "amount": expected a positive number'],
    [
      'an unknown action',
      'a,T,1,burn,,5,\n',
      '2:7 column "action": unknown action; expected BURN, AIRDROP or MEMO',
    ],
    ['no payload', 'a,T,,BURN,,5,\n', '2:5 column "payload.id": expected a JSON object'],
  ])('refuse %s', async (_what, rows, problem) => {
    const { exit, stderr, input } = await run('p.csv', HEADER + rows, ['batch init']);
    expect([exit, input]).toEqual([2, undefined]);
    expect(problemsOf(stderr)).toContain(problem);
  });
});

describe('a CSV file without an end in sight', () => {
  it('is refused by its first line, however many columns that names', async () => {
    const names = Array.from({ length: 200_000 }, (_, at) => `proof.k${at}`);
    const { exit, stderr, input } = await run('b.csv', `type,amount,${names.join(',')}\nT,1\n`, [
      'burn-batch',
    ]);
    expect([exit, input]).toEqual([2, undefined]);
    expect(problemsOf(stderr)).toEqual(['1:1 header: there are 200002 columns; at most 10000 are read']);
  });

  it('is refused once its first line is longer than a row may be', async () => {
    const { exit, stderr } = await run('b.csv', '\0'.repeat(64 * 1_024 * 1_024), ['burn-batch']);
    expect(exit).toBe(2);
    expect(stderr).toContain('a row has more than 16777216 bytes');
  });
});
