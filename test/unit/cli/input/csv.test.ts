/** CSV files: accepted forms, and errors with line and column. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { proofHash } from '../../../../src/values/digest.js';
import { fakeService } from '../../../support/fake-service.js';
import { testCli } from '../../../support/in-process.js';
import { reply } from '../single-command.js';

const WALLET = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';

/** @returns the sent request, or every problem as line, column and message. */
async function run(name: string, text: string, words: readonly string[], stdin?: string) {
  const service = fakeService();
  service.answer('burnBatch', ({ input }) =>
    reply({
      success: (input as readonly BurnRequest[]).map(({ proof, type }, at) => ({
        ...{ result: 'SUCCESS', hash: proofHash(proof), txHash: `tx${at}`, type },
        dateBurned: '2026-01-31T12:00:00.000Z',
      })),
      errors: [],
    }),
  );
  const cli = testCli({ service, ...(stdin === undefined ? {} : { stdin }) });
  writeFileSync(join(cli.home, name), text);
  const [command = '', ...more] = words;
  const { exit, stderr } = await cli.run(...command.split(' '), stdin === undefined ? name : '-', ...more);
  const complaint = exit === 0 ? {} : JSON.parse(stderr);
  const problems = (complaint.problems ?? []) as { line: number; path?: string; message: string }[];
  return {
    ...{ exit, input: service.calls[0]?.input, error: complaint.error, message: complaint.message },
    problems: problems.map(({ line, path, message }) => `${line} ${path}: ${message}`),
  };
}

const burn = (parts: Partial<BurnRequest> = {}) => ({
  ...{ type: 'T', proof: { id: '1' }, burnAmount: 1.5, persistOnchain: false, ...parts },
});

describe('burns in CSV', () => {
  const renamed = ['--column', 'amount=Tokens', '--column', 'type=Kind', '--column', 'proof.id=Order'];
  const json = 'type,burnAmount,proof,persistOnchain\nT,1.5,"{""id"":""1""}",TRUE\n';
  const spread = '\ufefftype,amount,proof.id\r\n\r\nT,1.5,1\r\n,,\r\nT,2,1';

  it.each([
    ['a column a key', 'type,amount,proof.id\nT,1.5,1\n', [], [burn()]],
    ['JSON in a column', json, [], [burn({ persistOnchain: true })]],
    ['a byte order mark, CRLF, empty lines and rows', spread, [], [burn(), burn({ burnAmount: 2 })]],
    ['semicolons', 'type;amount;proof.id\nT;1.5;1\n', [], [burn()]],
    ['tabs, by another name', 'type\tamount\tproof.id\nT\t1.5\t1\n', ['--format', 'csv'], [burn()]],
    ['a separator that is stated', 'sep=;\ntype;amount;proof.id\nT;1.5;1\n', [], [burn()]],
    ['names of its own', 'Kind,Tokens,Order\nT,1.5,1\n', renamed, [burn()]],
    [
      'quotes and lines in cells',
      'type,amount,proof.id\nT,1.5,"a ""b""\n, c"\n',
      ...[[], [burn({ proof: { id: 'a "b"\n, c' } })]],
    ],
    ['empty cells of keys', 'type,amount,proof.id,proof.note\nT,1.5,1,\n', [], [burn()]],
    [
      'more digits than a double adds up',
      'type,amount,proof.id\nT,0.1,1\nT,9007199254740991,1\n',
      ...[[], [burn({ burnAmount: 0.1 }), burn({ burnAmount: 9_007_199_254_740_991 })]],
    ],
  ] as [string, string, string[], unknown[]][])('are read: %s', async (_what, text, words, burns) => {
    const name = words.includes('--format') ? 'burns.txt' : 'burns.csv';
    expect(await run(name, text, ['burn-batch', ...words])).toMatchObject({ exit: 0, input: burns });
  });

  it('come through standard input where the format is said', async () => {
    const text = 'type,amount,proof.id\nT,1.5,1\n';
    expect((await run('x', '', ['burn-batch', '--format', 'csv'], text)).input).toEqual([burn()]);
  });

  it.each([
    ...['1,250.5', '12,5', "1'250", '1.250.000', '1E+05', '$5', '-5', 'five', ' 1', '', '9007199254740993'],
  ])('refuse the amount %j', async (amount) => {
    const text = `type,proof.id,amount\nT,1,1\nT,2,"${amount}"\n`;
    const { exit, input, problems } = await run('burns.csv', text, ['burn-batch']);
    expect([exit, input]).toEqual([2, undefined]);
    expect(problems).toEqual([expect.stringMatching(/^3 .*"amount"/)]);
    expect(problems[0]).toContain(amount);
  });

  it.each([
    ['no type', 'amount,type,proof.id\n1,,1\n', /^2 .*"type"/],
    ['no proof', 'type,amount,proof.id\nT,1,\n', /^2 .*"proof\.id"/],
    ['a proof that is no JSON', 'type,amount,proof\nT,1,{a}\n', /^2 .*"proof"/],
    ['a word for true', 'type,amount,proof.id,persistOnchain\n"T\n",1,1,yes\n', /^2 .*"persistOnchain"/],
    ['too many cells', 'type,amount,proof.id\nT,1,1,1\n', /^2 .*4 cells.* 3/],
    ['a quote that is not closed', 'type,amount,proof.id\nT,1,"1\n', /^2 .*quoted cell/],
    ['an unknown column', 'type,Amount,proof.id\nT,1,1\n', /^1 .*"Amount".*"amount"/],
    [
      'an unknown column like no other',
      'type,amount,Remarks,proof.id\nT,1,x,1\n',
      /^1 .*"Remarks"; known: "type", "amount"/,
    ],
    ['two columns of a name', 'type,amount,amount,proof.id\nT,1,1,1\n', /^1 .*two columns for "amount"/],
    ['two columns of a field', 'type,amount,burnAmount,proof.id\nT,1,1,1\n', /^1 .*two columns for "amount"/],
    ['a column without a name', 'type,amount,,proof.id\nT,1,,1\n', /^1 .*unknown column ""/],
    ['no column of amounts', 'type,proof.id\nT,1\n', /^1 .*--column amount=NAME/],
    ['a nested key', 'type,amount,proof.a.b\nT,1,1\n', /^1 .*"proof\.a\.b"/],
    ['both forms of the proof', 'type,amount,proof,proof.a\nT,1,{},1\n', /^1 .*"proof".*"proof\.KEY"/],
  ])('refuse %s', async (_what, text, problem) => {
    const { exit, input, problems } = await run('burns.csv', text, ['burn-batch']);
    expect([exit, input]).toEqual([2, undefined]);
    expect(problems).toContainEqual(expect.stringMatching(problem));
  });

  it.each([
    [['--column', 'amount'], 'ERR_USAGE', 'amount'],
    [['--column', 'amount=A', '--column', 'amount=B'], 'ERR_USAGE', 'amount'],
    [['--column', 'sum=A'], 'ERR_INPUT_INVALID', 'sum'],
    [['--column', 'amount=type'], 'ERR_INPUT_INVALID', 'two columns for "amount"'],
    [['--column', 'amount=Amuont'], 'ERR_INPUT_INVALID', '"amount"'],
    [['--format', 'json', '--column', 'amount=A'], 'ERR_USAGE', 'json'],
  ])('refuse %j', async (words, code, names) => {
    const ended = await run('burns.csv', 'type,amount,proof.id\nT,1,1\n', ['burn-batch', ...words]);
    expect([ended.exit, ended.error, ended.message]).toEqual([2, code, expect.stringContaining(names)]);
  });

  it('are refused by a first line with more columns than anybody has', async () => {
    const names = Array.from({ length: 10_001 }, (_, at) => `proof.k${at}`);
    const { exit, problems } = await run('b.csv', `type,amount,${names.join(',')}\nT,1\n`, ['burn-batch']);
    expect([exit, problems]).toEqual([2, [expect.stringMatching(/^1 .*10003.* 10000/)]]);
  });
});

describe('pipelines in CSV', () => {
  const HEADER = 'pipeline,type,payload.id,action,toAddress,amount,message\n';
  const BURN = { action: 'BURN', amount: 5 };

  it('are one action a row, grouped by a column, in their order', async () => {
    const rows = `a,T,1,BURN,,5,\na,,,AIRDROP,${WALLET},2.5,\na,,,MEMO,,, thank you\nb,U,2,BURN,,5,\n`;
    const airdrop = { action: 'AIRDROP', toAddress: WALLET, amount: 2.5 };
    expect((await run('p.csv', HEADER + rows, ['batch init'])).input).toEqual({
      pipelines: [
        {
          type: 'T',
          payload: '{"id":"1"}',
          actions: [BURN, airdrop, { action: 'MEMO', message: ' thank you' }],
        },
        { type: 'U', payload: '{"id":"2"}', actions: [BURN] },
      ],
    });
  });

  it('are one a row without that column', async () => {
    const text = 'type,payload,action,Tokens\nT,"{""n"":1}",BURN,5\nT,"{""n"":2}",BURN,5\n';
    const pipelines = ['{"n":1}', '{"n":2}'].map((payload) => ({ type: 'T', payload, actions: [BURN] }));
    expect((await run('p.csv', text, ['batch init', '--column', 'amount=Tokens'])).input).toEqual({
      pipelines,
    });
  });

  it.each([
    ['rows apart', 'a,T,1,BURN,,5,\nb,T,2,BURN,,5,\na,,,BURN,,5,\n', /^4 .*"a"/],
    ['a row of none', ',T,1,BURN,,5,\n', /^2 .*"pipeline"/],
    ['two types', 'a,T,1,BURN,,5,\na,U,,BURN,,5,\n', /^3 .*"type"/],
    ['two payloads', 'a,T,1,BURN,,5,\na,,2,BURN,,5,\n', /^3 .*"payload\.id"/],
    ['a bad amount', 'a,T,1,BURN,,5,\na,,,BURN,,"1,0",\n', /^3 .*"amount".*"1,0"/],
    ['no amount', 'a,T,1,BURN,,,\n', /^2 .*"amount"/],
    ['an unknown action', 'a,T,1,burn,,5,\n', /^2 .*"action".*BURN, AIRDROP/],
    ['no payload', 'a,T,,BURN,,5,\n', /^2 .*"payload\.id"/],
  ])('refuse %s', async (_what, rows, problem) => {
    const { exit, input, problems } = await run('p.csv', HEADER + rows, ['batch init']);
    expect([exit, input]).toEqual([2, undefined]);
    expect(problems).toContainEqual(expect.stringMatching(problem));
  });
});
