/** Strict JSON: accepts all of JSON and nothing else, and locates errors. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH } from '../../../src/values/canonical-json.js';
import { InexactNumber } from '../../../src/values/exact-number.js';
import { decodeUtf8, parseStrictJson } from '../../../src/values/strict-json.js';

const parse = (text: string) => parseStrictJson(text).value;
/** The value with every number rounded to the nearest double, as JSON.parse returns it. */
const rounded = (value: unknown): unknown => {
  if (value instanceof InexactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, rounded(field)]));
};
const json = fc.json({ stringUnit: 'binary' });

/** Any JSON text with any white space. */
const laidOut = fc
  .tuple(fc.jsonValue({ stringUnit: 'binary' }), fc.constantFrom(0, 2, '\t', '\r\n '))
  .map(([value, space]) => JSON.stringify(value, null, space).replaceAll('\n', '\r\n'));

describe('parseStrictJson', () => {
  it('agrees with JSON.parse on valid JSON', () => {
    fc.assert(
      fc.property(fc.oneof(json, laidOut), (text) => {
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 60 },
    );
  });

  it('refuses whatever JSON.parse refuses', () => {
    const piece = fc.constantFrom(
      ...'{}[]",:\\ \n\t0123456789-+.eE'.split(''),
      'true',
      'null',
      'nul',
      '"a"',
      '\u0000',
      '\u00a0',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_REQUEST' }));
          return;
        }
        // Only duplicate keys may be refused in addition.
        try {
          expect(rounded(parse(text))).toEqual(expected);
        } catch (error) {
          expect((error as Error).message).toMatch(/Duplicate key/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses a text that is cut off anywhere', () => {
    const text = '{"a":[1,-2.5e3,"x\\u00e9\\n",true,null,{"b":{}}],"c":"é"}';
    for (let length = 0; length < text.length; length += 1) {
      expect(() => parse(text.slice(0, length))).toThrow(/\(line 1, column \d+\)\.$/);
    }
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ['', 'Expected JSON, got nothing (line 1, column 1).'],
    ['{"a":1,}', 'Expected a key in double quotes (line 1, column 8).'],
    ['{"a" 1}', 'Expected ":" after the key (line 1, column 6).'],
    ['{"a":1 "b":2}', 'Expected "," or "}" (line 1, column 8).'],
    ['[1] 2', 'Unexpected text after the JSON value (line 1, column 5).'],
    ['{\n  "a": 1,\n  "a": 2\n}', 'Duplicate key "a" (line 3, column 3).'],
    ['{"a":{"b":1,"\\u0062":2}}', 'Duplicate key "b" (line 1, column 13).'],
    ['{"toString":1,"toString":2}', 'Duplicate key "toString" (line 1, column 15).'],
    ['01', 'Unexpected text after the JSON value (line 1, column 2).'],
    ['"a\u0001"', 'The string has a bad escape or a control character (line 1, column 1).'],
    ['"\\', 'The text ends inside a string (line 1, column 1).'],
    ['NaN', 'Unexpected "N" (line 1, column 1).'],
  ])('says what is wrong with %j, and where', (text, message) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_REQUEST', message }));
  });

  it('keeps __proto__ an ordinary key', () => {
    const value = parse('{"__proto__":{"polluted":true},"constructor":1}') as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('follows nesting only so far', () => {
    const text = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(() => parse(text(MAX_JSON_DEPTH + 1))).not.toThrow();
    expect(() => parse(text(MAX_JSON_DEPTH + 2))).toThrow(`deeper than ${MAX_JSON_DEPTH} levels`);
    expect(() => parse('{"a":'.repeat(100_000))).toThrow('deeper');
    expect(() => parseStrictJson(text(4), { maxDepth: 2 })).toThrow('deeper than 2 levels');
  });

  it('tells which numbers are not what was written', () => {
    const text =
      '{"a":[18446744073709551615,1.5],"b":{"c":0.1000000000000000055511151231257827},"d":9007199254740993}';
    expect(parse(text)).toEqual({
      a: [new InexactNumber('18446744073709551615'), 1.5],
      b: { c: new InexactNumber('0.1000000000000000055511151231257827') },
      d: new InexactNumber('9007199254740993'),
    });
    const exact = '[0.1,1e21,123456789012345680000,-0.000001,1.7976931348623157e308,100000000000000000000.0]';
    expect(parse(exact)).toEqual(JSON.parse(exact));
  });

  it.each(['1e-400', '-1e-999999', '2e-324', '1.23456789e-320'])('tells that %s vanishes', (text) => {
    expect(parse(`[${text}]`)).toEqual([new InexactNumber(text)]);
  });

  it('tells of no number that a program wrote', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(parse(JSON.stringify([number]))).toEqual(JSON.parse(JSON.stringify([number])));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('parseStrictJson within limits', () => {
  it('counts every value and stops at the first too many', () => {
    const text = '[1,{"a":[true,null]},"x"]';
    expect(() => parseStrictJson(text, { maxValues: 7 })).not.toThrow();
    expect(() => parseStrictJson(text, { maxValues: 6 })).toThrow(
      expect.objectContaining({
        code: 'ERR_PAYLOAD_TOO_LARGE',
        message: 'The JSON has more than 6 values.',
      }),
    );
    expect(() => parseStrictJson('['.repeat(60), { maxValues: 50 })).toThrow('more than 50 values');
  });
});

describe('decodeUtf8', () => {
  it('takes text with and without a byte order mark', () => {
    expect(decodeUtf8(Buffer.from('\ufeff{"a":1}'))).toBe('{"a":1}');
    expect(decodeUtf8(Buffer.from('é€😀'))).toBe('é€😀');
  });

  it.each([
    ['a lone continuation byte', [0x80]],
    ['a character cut short', [0xe2, 0x82]],
    ['half a surrogate pair', [0xed, 0xa0, 0x80]],
    ['an overlong form', [0xc0, 0xaf]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00]],
  ])('refuses %s', (_name, bytes) => {
    expect(() => decodeUtf8(Uint8Array.from(bytes))).toThrow('The text is not valid UTF-8.');
  });
});
