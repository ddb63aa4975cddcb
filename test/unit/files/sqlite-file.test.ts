import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteFile } from '../../../src/files/sqlite-file.js';

describe('openSqliteFile', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'flywheel-files-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('lets a write survive power loss, also where only a full sync reaches the disk (macOS)', async () => {
    const path = join(directory, 'a.db');
    const file = await openSqliteFile({
      path,
      noun: 'ledger',
      create: true,
      inspect: () => undefined,
    });
    const setting = (name: string): number => file.number(`PRAGMA ${name}`);
    expect(['synchronous', 'fullfsync', 'checkpoint_fullfsync'].map(setting)).toEqual([2, 1, 1]);
    file.close();
  });
});
