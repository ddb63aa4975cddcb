/** Files of burns and pipelines: every problem has its place, and no number is changed by a double. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testCli } from '../../../support/in-process.js';
import { READER } from '../single-command.js';

const BIG = '9007199254740993';
const burn = (amount: string, proof = '{}'): string =>
  `{"type":"T","proof":${proof},"burnAmount":${amount},"persistOnchain":false}`;
const pipelines = (amount: string, payload: string): string =>
  `{"pipelines":[{"type":"T","payload":${payload},"actions":[{"action":"MEMO","message":"m"},{"action":"BURN","amount":${amount}}]}]}`;

interface Problem {
  readonly line?: number;
  readonly path?: string;
  readonly message: string;
}

async function refusal(
  text: string,
  words: readonly string[] = ['burn-batch'],
  name = 'input.json',
): Promise<{ message: string; problems: readonly Problem[]; problemCount: number; stderr: string }> {
  const cli = testCli();
  writeFileSync(join(cli.home, name), text);
  const { exit, stderr } = await cli.run(...words, name);
  const complaint = JSON.parse(stderr);
  expect([exit, complaint.error, cli.service.calls]).toEqual([2, 'ERR_INPUT_INVALID', []]);
  expect(complaint.message).toContain(name);
  return { ...complaint, stderr };
}

describe('a file of burns', () => {
  it('is refused with every problem and its place', async () => {
    const bad = '{"type":"T","proof":[],"burnAmount":-1,"persistOnchain":"yes","extra":1}';
    const { problems, problemCount } = await refusal(`[${burn('1')},${bad},7,${burn('"1.x"')}]`);
    const places = problems.map(({ path }) => path);
    for (const path of ['[1].proof', '[1].burnAmount', '[1].persistOnchain', '[1]', '[2]', '[3].burnAmount'])
      expect(places).toContain(path);
    expect(problemCount).toBe(problems.length);
    expect(problems.map(({ message }) => message).join()).toContain('"extra"');
    expect(places.filter((path) => path?.startsWith('[0]'))).toEqual([]);
    const evil = await refusal(
      '[{"type":"T","proof":{},"burnAmount":1,"persistOnchain":true,"__proto__":{}}]',
    );
    expect(evil.message).toContain('__proto__');
  });

  it('of lines is refused with the numbers of the lines', async () => {
    const text = [burn('1'), '', `  ${burn('0')}`, ' {"type":}', '7'].join('\r\n');
    const { problems } = await refusal(text, ['burn-batch'], 'b.ndjson');
    expect(problems.map(({ line }) => line)).toEqual([3, 4, 5]);
    expect(problems[0]?.path).toBe('burnAmount');
  });

  it.each([
    ['an empty file', ''],
    ['an empty array', '[]'],
    ['truncated JSON', '[{"type":"T"'],
    ['something else', '"text"'],
    ['one object over lines', '{\n"type":"T"\n}'],
    ['a bad line', `${burn('1')}\n{"type":\n`],
    ['a duplicate key', '[{"type":"T","type":"U"}]'],
  ])('is refused: %s', async (_name, text) => {
    await refusal(text);
  });

  it('is cut where nobody reads on, with the number of problems', async () => {
    const text = Array.from({ length: 3_000 }, () => '{"type":1}').join('\n');
    const { problemCount, problems, stderr } = await refusal(text, ['burn-batch'], 'b.ndjson');
    expect([problemCount, problems.length, stderr.length < 400_000]).toEqual([12_000, 1_000, true]);
    const cli = testCli(READER);
    writeFileSync(join(cli.home, 'b.ndjson'), text);
    const shown = (await cli.run('burn-batch', 'b.ndjson')).stderr;
    expect([shown.split('\n').length < 110, shown.includes('11,900 more')]).toEqual([true, true]);
  });

  it('on standard input that looks like a table says how to read it', async () => {
    const { exit, stderr } = await testCli({ stdin: 'type,amount\nT,1\n' }).run('burn-batch', '-');
    expect([exit, JSON.parse(stderr).hint]).toEqual([2, expect.stringContaining('--format csv')]);
  });
});

describe('a file of pipelines', () => {
  it('is refused with every problem and its place', async () => {
    const words = ['batch', 'init'];
    const actions = '[{"action":"MEMO","message":"m"},{"action":"BURN","amount":"x"}]';
    const text = `{"pipelines":[{"type":"","payload":[],"actions":[]},{"type":"T","payload":{},"actions":${actions}}]}`;
    const places = (await refusal(text, words)).problems.map(({ path }) => path);
    for (const path of ['[0].type', '[0].payload', '[0].actions', '[1].actions[1].amount'])
      expect(places).toContain(`pipelines${path}`);
    expect((await refusal('{"pipelines":[],"other":1}', words)).message).toContain('other');
  });
});

describe('a number that a double cannot carry', () => {
  it.each([
    ['an amount', `[${burn('1')},${burn('1e-400')}]`, '1e-400', '[1].burnAmount'],
    ['an amount on a line', `${burn('1')}\n${burn(`${BIG}.5`)}`, `${BIG}.5`, 'burnAmount'],
    ['a proof', `[${burn('1', `{"a":[{"b":${BIG}}]}`)}]`, BIG, '[0].proof'],
    ['a proof on a line', `${burn('1', '{"a":1e400}')}\n`, '1e400', 'proof'],
    ['an amount of text', `[${burn('"9007199254740993"')}]`, BIG, '[0].burnAmount'],
  ])('is named with its place in burns: %s', async (_name, text, number, place) => {
    const { message, problems } = await refusal(text);
    expect(message).toContain(number);
    expect(problems.map(({ path }) => path)).toEqual([place]);
  });

  it.each([
    ['an amount', pipelines(BIG, '"{}"'), 'pipelines[0].actions[1].amount'],
    ['a payload of text', pipelines('1', `"{\\"a\\":${BIG}}"`), 'pipelines[0].payload'],
    ['a payload', pipelines('1', `{"actions":{"amount":${BIG}}}`), 'pipelines[0].payload'],
  ])('is named with its place in pipelines: %s', async (_name, text, place) => {
    const { message, problems } = await refusal(text, ['batch', 'init']);
    expect([message, problems.map(({ path }) => path)]).toEqual([expect.stringContaining(BIG), [place]]);
  });

  it('is quoted no longer than fits', async () => {
    const { message } = await refusal(`[${burn(`1.${'0'.repeat(100_000)}1`)}]`);
    expect([message.length < 300, message.includes('1.0000')]).toEqual([true, true]);
  });
});
