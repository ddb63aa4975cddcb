import { describe, expect, it } from 'vitest';
import { loadNative } from '../../../../../src/chain/local/native-vm.js';

describe('loadNative', () => {
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
