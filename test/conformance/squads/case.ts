/** One case: a recorded transaction, changed, and how it has to end. */
import { type Fixture, type FixtureEnd, fixtureOf } from './fixture.js';

export interface Case {
  readonly name: string;
  /** @returns the problem, or `null`. */
  check(): string | null;
}

/** @returns the problem, or `null`. */
export type Check = (end: FixtureEnd, fixture: Fixture) => string | null;

export const caseOf = (
  vector: string,
  name: string,
  prepare: (fixture: Fixture) => unknown,
  expected: number | string | Check,
): Case => ({
  name: `${vector}: ${name}`,
  check: () => {
    const fixture = fixtureOf(vector);
    prepare(fixture);
    const ended = fixture.run();
    if (typeof expected === 'function') return expected(ended, fixture);
    return ended.end === expected ? null : `expected ${expected}, got ${ended.end}`;
  },
});
