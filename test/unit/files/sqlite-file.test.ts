import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteFile } from '../../../src/files/sqlite-file.js';
import { emptyDirectory } from '../../support/spawn.js';

describe('openSqliteFile', () => {
  it('lets a write survive power loss, also where only a full sync reaches the disk (macOS)', async () => {
    const path = join(emptyDirectory(), 'a.db');
    const file = await openSqliteFile({ path, noun: 'ledger', create: true, inspect: () => undefined });
    const setting = (name: string): number => file.number(`PRAGMA ${name}`);
    expect(['synchronous', 'fullfsync', 'checkpoint_fullfsync'].map(setting)).toEqual([2, 1, 1]);
    file.close();
  });
});
