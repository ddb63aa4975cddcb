/** Amounts: text and numbers become base units exactly, or are refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatTokenAmount,
  MAX_BASE_UNITS,
  parseTokenAmount,
  sameDecimal,
  tokenAmountFromNumber,
} from '../../../src/values/token-amount.js';

const decimals = fc.integer({ min: 0, max: 30 });
const baseUnits = fc.bigInt({ min: 1n, max: MAX_BASE_UNITS });

describe('parseTokenAmount', () => {
  it('reads back what formatTokenAmount writes', () => {
    fc.assert(
      fc.property(baseUnits, decimals, (units, places) => {
        expect(parseTokenAmount(formatTokenAmount(units, places), places)).toBe(units);
      }),
    );
  });

  it('reads every way to write the same decimal alike', () => {
    fc.assert(
      fc.property(baseUnits, decimals, fc.integer({ min: 0, max: 9 }), (units, places, zeros) => {
        const plain = formatTokenAmount(units, places);
        const [whole = '', fraction = ''] = plain.split('.');
        const padded = `${'0'.repeat(zeros)}${whole}.${fraction}${'0'.repeat(zeros + 1)}`;
        expect(parseTokenAmount(padded, places)).toBe(units);
        expect(parseTokenAmount(`${units}e-${places}`, places)).toBe(units);
        expect(parseTokenAmount(`${units}${'0'.repeat(zeros)}E-${places + zeros}`, places)).toBe(units);
      }),
    );
  });

  it('never rounds: one decimal too many is refused unless it is zero', () => {
    fc.assert(
      fc.property(baseUnits, decimals, fc.integer({ min: 1, max: 9 }), (units, places, digit) => {
        const [whole = '', fraction = ''] = formatTokenAmount(units, places).split('.');
        const longer = `${whole}.${fraction.padEnd(places, '0')}`;
        expect(() => parseTokenAmount(`${longer}${digit}`, places)).toThrow(
          `has more decimals than the token has (${places}).`,
        );
        expect(parseTokenAmount(`${longer}0`, places)).toBe(units);
      }),
    );
  });

  it('holds exactly a u64', () => {
    expect(parseTokenAmount('18446744073709551615', 0)).toBe(MAX_BASE_UNITS);
    expect(parseTokenAmount('18446744073709.551615', 6)).toBe(MAX_BASE_UNITS);
    for (const [text, places] of [
      ['18446744073709551616', 0],
      ['18446744073709.551616', 6],
      ['1e20', 0],
      ['1', 20],
      ['1e9999', 6],
    ] as const) {
      expect(() => parseTokenAmount(text, places)).toThrow('is more than a token account can hold');
    }
  });

  it.each([
    ['0', 'The amount must be positive, got 0.'],
    ['-1', 'Expected a positive decimal number, got "-1".'],
    ['+1', 'Expected a positive decimal number, got "+1".'],
    ['', 'Expected a positive decimal number, got "".'],
    ['1,5', 'Expected a positive decimal number, got "1,5".'],
    ['1e12345', 'Expected a positive decimal number, got "1e12345".'],
    ['NaN', 'Expected a positive decimal number, got "NaN".'],
    ['١', 'Expected a positive decimal number, got "١".'],
    ['1e-7', 'The amount 0.0000001 has more decimals than the token has (6).'],
  ])('refuses %j', (text, message) => {
    expect(() => parseTokenAmount(text, 6)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_REQUEST', message }),
    );
  });

  it('refuses endless digits without counting them', () => {
    expect(() => parseTokenAmount('1'.repeat(100_000), 6)).toThrow('too many digits');
    expect(() => parseTokenAmount(`1e-9999`, 6)).toThrow('more decimals');
  });
});

describe('tokenAmountFromNumber', () => {
  it('goes by the shortest decimal text of the number, never by its binary value', () => {
    expect(tokenAmountFromNumber(0.1 + 0.2, 17)).toBe(30_000_000_000_000_004n);
    expect(tokenAmountFromNumber(1.005, 3)).toBe(1_005n);
    expect(tokenAmountFromNumber(1e21, 0 - 3)).toBe(1_000_000_000_000_000_000n);
    expect(tokenAmountFromNumber(1e-7, 7)).toBe(1n);
    expect(() => tokenAmountFromNumber(0.1 + 0.2, 6)).toThrow('more decimals');
  });

  it('agrees with the text of any number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 50 }), fc.integer({ min: 0, max: 9 }), (units, places) => {
        const number = Number(formatTokenAmount(BigInt(units), places));
        expect(tokenAmountFromNumber(number, places)).toBe(BigInt(units));
      }),
    );
  });

  it.each([0, -0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'refuses %d',
    (value) => {
      expect(() => tokenAmountFromNumber(value, 6)).toThrow(
        `The amount must be a positive number, got ${value}.`,
      );
    },
  );
});

describe('formatTokenAmount', () => {
  it.each([
    [1_250_500_000n, 6, '1250.5'],
    [1n, 6, '0.000001'],
    [0n, 6, '0'],
    [1_000_000n, 6, '1'],
    [10n, 0, '10'],
    [MAX_BASE_UNITS, 9, '18446744073.709551615'],
  ])('%d at %d decimals is %s', (units, places, text) => {
    expect(formatTokenAmount(units, places)).toBe(text);
  });
});

describe('sameDecimal', () => {
  it.each([
    ['1.50', '15e-1', true],
    ['1e3', '1000', true],
    ['0', '0e-400', true],
    ['1', '1.0000000000000000000000001', false],
    ['1e-9000', '0', false],
    ['9007199254740993', '9007199254740992', false],
  ])('%s and %s: %s', (left, right, same) => {
    expect(sameDecimal(left, right)).toBe(same);
    expect(sameDecimal(right, left)).toBe(same);
  });
});
