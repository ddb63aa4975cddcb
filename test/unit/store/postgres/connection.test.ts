/** Which failures of a connection leave open what became of the statement. */
import { expect, it } from 'vitest';
import { isBroken } from '../../../../src/store/postgres/connection.js';

it.each([
  ['EPIPE', true],
  ['ECONNRESET', true],
  ['57P01', true],
  ['08006', true],
  ['25006', true],
  ['23505', false],
  ['P0001', false],
  ['XX000', false],
])('an error with the code %s breaks the connection: %s', (code, expected) => {
  expect(isBroken(Object.assign(new Error('a failure'), { code }))).toBe(expected);
});
