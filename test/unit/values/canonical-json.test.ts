/** Canonical JSON: the one text of a value (RFC 8785). */
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  distinctText,
  type JsonValue,
  MAX_JSON_DEPTH,
} from '../../../src/values/canonical-json.js';
import { InexactNumber } from '../../../src/values/exact-number.js';

// The package's types describe an ES module, but it is CommonJS.
const canonicalize = createRequire(import.meta.url)('canonicalize') as (value: JsonValue) => string;

const nested = (depth: number): JsonValue => {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

/** Any JSON without lone surrogates. */
const json = fc.jsonValue({ stringUnit: 'grapheme' }) as fc.Arbitrary<JsonValue>;

describe('canonicalJson', () => {
  it('agrees with an independent implementation', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
      { numRuns: 500 },
    );
  });

  it.each(['\ud800', '\udc00', 'a\ud800b', '\udc00\ud800', '\ud83d\ud83d\ude00'])(
    'refuses half a pair: %j',
    (text) => {
      const refused = expect.objectContaining({ code: 'ERR_INVALID_REQUEST' });
      expect(() => canonicalJson(text)).toThrow(refused);
      expect(() => canonicalJson({ [text]: 1 })).toThrow(refused);
      expect(() => canonicalJson([{ a: text }])).toThrow(refused);
    },
  );

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('refuses %d', (value) => {
    expect(() => canonicalJson([value])).toThrow(`JSON has no number ${value}.`);
  });

  it('leaves out a property without a value, as JSON text does', () => {
    expect(canonicalJson({ b: 1, a: undefined } as unknown as JsonValue)).toBe('{"b":1}');
    expect(() => canonicalJson([undefined] as unknown as JsonValue)).toThrow('type undefined');
  });

  it('refuses a number that no double carries', () => {
    expect(() => canonicalJson([new InexactNumber('9007199254740993')])).toThrow(
      'The number 9007199254740993 would be rounded by JSON readers; write it as text.',
    );
  });

  it('goes as deep as is allowed, and no deeper', () => {
    expect(canonicalJson(nested(MAX_JSON_DEPTH))).toHaveLength(2 * MAX_JSON_DEPTH + 1);
    expect(() => canonicalJson(nested(MAX_JSON_DEPTH + 1))).toThrow(`deeper than ${MAX_JSON_DEPTH} levels`);
    expect(() => canonicalJson(nested(5_000))).toThrow('deeper');
  });
});

describe('distinctText', () => {
  it('goes as deep as what wraps a value of the greatest depth, and no deeper', () => {
    const nest = (depth: number): JsonValue => (depth === 0 ? 1 : [nest(depth - 1)]);
    expect(() => distinctText(nest(72))).not.toThrow();
    expect(() => distinctText(nest(73))).toThrow('nested deeper');
  });

  it('is the canonical text wherever there is one', () => {
    fc.assert(fc.property(json, (value) => distinctText(value) === canonicalJson(value)));
  });

  it('tells any two values apart', () => {
    fc.assert(
      fc.property(json, json, (left, right) => {
        const same = JSON.stringify(left) === JSON.stringify(right);
        if (same) expect(distinctText(left)).toBe(distinctText(right));
        else if (distinctText(left) === distinctText(right)) expect(left).toEqual(right);
      }),
    );
    expect(distinctText('\ud800')).not.toBe(distinctText('\ufffd'));
    expect(distinctText('\ud800')).not.toBe(distinctText('\\ud800'));
  });
});
