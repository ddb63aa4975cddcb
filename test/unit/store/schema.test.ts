/** Compares the generated schema of both databases with files. */
import { expect, it } from 'vitest';
import { schemaOf } from '../../../src/store/ddl.js';
import { TABLE_NAMES, describe as tableOf } from '../../../src/store/schema.js';

it.each(['sqlite', 'postgres'] as const)('is written down for %s', async (database) => {
  const text = `${schemaOf(database).join(';\n\n')};\n`;
  await expect(text).toMatchFileSnapshot(`golden/schema.${database}.sql`);
});

it('gives a column one kind wherever its name occurs, so that a row is read without its table', () => {
  const kinds = new Map<string, Set<string>>();
  for (const name of TABLE_NAMES)
    for (const [column, { kind }] of Object.entries(tableOf(name).columns))
      kinds.set(column, (kinds.get(column) ?? new Set()).add(kind));
  expect([...kinds].filter(([, found]) => found.size > 1)).toEqual([]);
});
