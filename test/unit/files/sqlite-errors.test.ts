import { describe, expect, it } from 'vitest';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { translateSqliteError } from '../../../src/files/sqlite-errors.js';

const failure = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

const READ_ONLY = 'is read-only for this user';
const FULL = 'cannot grow: the disk or the quota is full';

describe('translateSqliteError', () => {
  it.each([
    ['a file system that is read-only', failure('', { code: 'EROFS' }), READ_ONLY],
    ['a directory that is closed to this user', failure('', { code: 'EACCES' }), READ_ONLY],
    ['a quota that is used up', failure('', { code: 'EDQUOT' }), FULL],
    [
      'a failed write',
      failure('disk I/O error', { code: 'SQLITE_IOERR_WRITE', rawCode: 778 }),
      'could not be read or written by the operating system',
    ],
    [
      'a directory without write permission, which the driver has no name for',
      failure('attempt to write a readonly database', { code: 'UNKNOWN_SQLITE_ERROR_1544' }),
      READ_ONLY,
    ],
    ['a table lock', failure('', { code: 'SQLITE_LOCKED', rawCode: 6 }), 'is locked by another process'],
  ])('names the file and the reason of %s', (_, error, reason) => {
    const translated = translateSqliteError({ path: '/data/ledger.db', noun: 'ledger' }, error);
    expect(translated).toBeInstanceOf(FlywheelError);
    expect(translated).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The ledger /data/ledger.db ${reason}.`,
      cause: error,
    });
    expect((translated as FlywheelError).hint).toMatch(/\.$/);
  });

  it.each([
    [
      'a broken rule of the schema',
      failure('UNIQUE constraint failed', { code: 'SQLITE_CONSTRAINT', rawCode: 19 }),
    ],
    ['an error of the house', new FlywheelError('ERR_INTERNAL', 'No.')],
    ['anything else', new RangeError('No.')],
    ['what is no error', 'No.'],
  ])('leaves %s as it is', (_, error) => {
    expect(translateSqliteError({ path: '/data/ledger.db', noun: 'ledger' }, error)).toBe(error);
  });
});
