/** Random identifiers of the system, and of node where the system has none. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemUuid } from '../../../src/files/system-uuid.js';

/** RFC 9562: version 4, variant 10. */
const RANDOM = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const distinct = (source?: string): number => {
  const ids = Array.from({ length: 100 }, () => systemUuid(source));
  for (const id of ids) expect(id).toMatch(RANDOM);
  return new Set(ids).size;
};

describe('systemUuid', () => {
  it('is random, and valid', () => {
    expect(distinct()).toBe(100);
  });

  it('believes no file that lies in the place of the source, and does without one that gives nothing', () => {
    const directory = mkdtempSync(join(tmpdir(), 'flywheel-uuid-'));
    try {
      const file = join(directory, 'urandom');
      writeFileSync(file, Buffer.alloc(1_000));
      expect(distinct(file)).toBe(100);
      expect(distinct(join(directory, 'none'))).toBe(100);
      expect(distinct('/dev/null')).toBe(100);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
