import { describe, expect, it } from 'vitest';
import { allCases } from './squads/cases.js';

describe('the rules of squads-v4.md', () => {
  it.each(allCases().map((one) => [one.name, one] as const))('%s', (_, { check }) => {
    expect(check()).toBeNull();
  });
});
