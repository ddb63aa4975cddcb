import { expect, it } from 'vitest';
import { REAL_PROGRAM } from '../conformance/squads/adapter.js';

it('runs vectors and cases on the real program: SQUADS_PROGRAM names its file', () => {
  expect(REAL_PROGRAM).not.toBeNull();
});
