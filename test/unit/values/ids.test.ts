/** Identifiers: valid UUIDs that are derived. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivedUuid, isUuid } from '../../../src/values/ids.js';

describe('ids', () => {
  it('derives the same valid UUID from the same parts, and another from others', () => {
    expect(derivedUuid('a', '1')).toBe(derivedUuid('a', '1'));
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (left, right) => {
        const id = derivedUuid(...left);
        // RFC 9562: version 8, variant 10.
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(isUuid(id)).toBe(true);
        expect(derivedUuid(...right) === id).toBe(JSON.stringify(left) === JSON.stringify(right));
      }),
    );
    expect(derivedUuid('a', 'b')).not.toBe(derivedUuid('ab'));
  });
});
