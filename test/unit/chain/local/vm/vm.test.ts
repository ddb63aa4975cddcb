import { describe, expect, it } from 'vitest';
import { transactionError } from '../../../../../src/chain/local/vm/errors.js';
import { loadNative, nativePackageNames } from '../../../../../src/chain/local/vm/native.js';

describe('loadNative', () => {
  it.each([
    [{ os: 'linux', cpu: 'x64' }, ['litesvm-linux-x64-gnu', 'litesvm-linux-x64-musl']],
    [{ os: 'darwin', cpu: 'arm64' }, ['litesvm-darwin-arm64']],
  ])('looks for the builds of the machine: %o', (platform, names) => {
    expect(nativePackageNames(platform)).toEqual(names);
  });

  it.each([
    ['plan9', 'mips', 'there is no LiteSVM build for plan9 on mips', 'on Windows: WSL'],
    ['win32', 'x64', 'there is no LiteSVM build for win32 on x64', 'on Windows: WSL'],
    [
      'darwin',
      'arm64',
      'needs the package litesvm-darwin-arm64',
      'Install flywheel again without --omit=optional',
    ],
  ])('says what is missing on %s %s, and what to do', (os, cpu, problem, remedy) => {
    const load = () => loadNative({ os, cpu });
    expect(load).toThrow(new RegExp(`${problem}.*${remedy}.*--api-url`));
    expect(load).toThrow(expect.objectContaining({ code: 'ERR_INTERNAL' }));
  });

  it('loads the build of this machine', () => {
    expect(loadNative().LiteSvm).toBeTypeOf('function');
  });
});

class TransactionErrorInsufficientFundsForRent {
  readonly accountIndex = 2;
}

describe('transactionError', () => {
  it.each([
    ['a name by its number', 11, { kind: 'transaction', error: 'SignatureFailure' }],
    ['an unknown number', 99, { kind: 'transaction', error: 'Unknown(99)' }],
    [
      'an error with an account',
      new TransactionErrorInsufficientFundsForRent(),
      { kind: 'transaction', error: 'InsufficientFundsForRent', accountIndex: 2 },
    ],
    [
      'an instruction given twice',
      { index: 3 },
      { kind: 'transaction', error: 'DuplicateInstruction', accountIndex: 3 },
    ],
    [
      'a program error',
      { index: 1, err: () => ({ code: 6_005 }) },
      { kind: 'instruction', index: 1, custom: 6_005 },
    ],
    [
      'a runtime error',
      { index: 1, err: () => 37 },
      { kind: 'instruction', index: 1, error: 'PrivilegeEscalation' },
    ],
    [
      'an error of reading',
      { index: 0, err: () => ({ msg: 'x' }) },
      { kind: 'instruction', index: 0, error: 'BorshIoError' },
    ],
  ])('gives the cluster names: %s', (_, native, expected) => {
    expect(transactionError(native)).toEqual(expected);
  });
});
