/** The README says what the program says. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { README, renderReadme } from '../support/readme.js';

it('holds the help, the errors and the exit codes as they are', async () => {
  const text = readFileSync(README, 'utf8');
  expect(text).toBe(await renderReadme(text));
});
