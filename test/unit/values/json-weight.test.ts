/** What is heavy, and that a light look is enough to say so. */
import { describe, expect, it } from 'vitest';
import { isHeavy } from '../../../src/values/json-weight.js';

describe('isHeavy', () => {
  it.each<[string, unknown]>([
    ['text', 'x'.repeat(1_000)],
    ['a list', Array(60).fill(1)],
    ['a key', { ['k'.repeat(1_000)]: 1 }],
    ['what is nested', [[{ a: ['x'.repeat(500)], b: 'x'.repeat(500) }]]],
  ])('counts %s', (_name, value) => {
    expect([isHeavy(value, 1_200), isHeavy(value, 900)]).toEqual([false, true]);
  });

  it('stops as soon as it knows', () => {
    const late = {
      get far(): never {
        throw new Error('It looked too far.');
      },
    };
    expect(isHeavy(['x'.repeat(100), late], 50)).toBe(true);
  });
});
