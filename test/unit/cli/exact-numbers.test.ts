/** Numbers in files that a double cannot carry: nothing is sent, and the place and the number are named. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sumAmounts } from '../../../src/cli/input/amount.js';
import { testCli } from '../../support/in-process.js';

const BIG = '9007199254740993';

const burn = (amount: string, proof: string): string =>
  `{"type":"T","proof":${proof},"burnAmount":${amount},"persistOnchain":false}`;
const pipelines = (amount: string, payload: string): string =>
  `{"pipelines":[{"type":"T","payload":${payload},"actions":[{"action":"MEMO","message":"m"},{"action":"BURN","amount":${amount}}]}]}`;

/** What a command says of a file that it does not take. */
async function refusal(text: string, ...args: readonly string[]): Promise<string> {
  const cli = testCli();
  writeFileSync(join(cli.home, 'input.json'), text);
  const { exit, stderr } = await cli.run(...args, 'input.json');
  expect([exit, cli.service.calls]).toEqual([2, []]);
  const { error, message } = JSON.parse(stderr) as { error: string; message: string };
  expect(error).toBe('ERR_INPUT_INVALID');
  return message;
}

const AMOUNT = 'is not exact as a JSON number; write it as a decimal string';
const PROOF = 'is not kept exactly by JSON readers; write it as text';

describe('sumAmounts', () => {
  it('adds what doubles would round', () => {
    expect(sumAmounts([])).toBe('0');
    expect(sumAmounts([1.5, 10, 0.1, 0.2])).toBe('11.8');
    expect(sumAmounts([1e-9, 2e20, 9_007_199_254_740_991])).toBe('200009007199254740991.000000001');
  });
});

describe('a number that a double cannot carry', () => {
  it.each([
    [
      'an amount',
      `[${burn('1', '{}')},${burn('1e-400', '{}')}]`,
      `1 problem; nothing was sent: [1].burnAmount: 1e-400 ${AMOUNT}.`,
    ],
    [
      'an amount on a line',
      `${burn('1', '{}')}\n${burn(`${BIG}.5`, '{}')}`,
      `1 problem; nothing was sent: line 2.burnAmount: ${BIG}.5 ${AMOUNT}.`,
    ],
    ['a proof', `[${burn('1', `{"a":[{"b":${BIG}}]}`)}]`, `[0].proof: The number ${BIG} ${PROOF}`],
    ['a proof on a line', `${burn('1', '{"a":1e400}')}\n`, `line 1.proof: The number 1e400 ${PROOF}`],
  ])('burn-batch: %s', async (_name, text, part) => {
    expect(await refusal(text, 'burn-batch')).toContain(part);
  });

  it('quotes no more of it than fits', async () => {
    const message = await refusal(`[${burn(`1.${'0'.repeat(100_000)}1`, '{}')}]`, 'burn-batch');
    expect(message).toContain(`[0].burnAmount: 1.${'0'.repeat(58)}… ${AMOUNT}`);
    expect(message.length).toBeLessThan(300);
  });

  it.each([
    [
      'an amount',
      pipelines(BIG, '"{}"'),
      `1 problem; nothing was sent: pipelines[0].actions[1].amount: ${BIG} ${AMOUNT}.`,
    ],
    [
      'a payload of text',
      pipelines('1', `"{\\"a\\":${BIG}}"`),
      `pipelines[0].payload: The number ${BIG} ${PROOF}`,
    ],
    [
      'a payload',
      pipelines('1', `{"actions":{"amount":${BIG}}}`),
      `1 problem; nothing was sent: pipelines[0].payload: The number ${BIG} ${PROOF}.`,
    ],
  ])('batch init: %s', async (_name, text, part) => {
    expect(await refusal(text, 'batch', 'init')).toContain(part);
  });

  it.each(['9007199254740993', '1e400', '0.1000000000000000055511151231257827', '9007199254740994'])(
    'proof hash: %s has none',
    async (number) => {
      expect(await refusal(`{"a":${number}}`, 'proof', 'hash')).toContain(`The number ${number} ${PROOF}`);
    },
  );
});
