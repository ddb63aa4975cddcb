/** A project whose mint is gone blocks only itself. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Chain } from '../../../src/chain/chain.js';
import { verifyEachProject } from '../../../src/compose/cluster-check.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../support/engine.js';

let test: TestEngine;

beforeAll(async () => {
  test = await openTestEngine();
});
afterAll(() => test.destroy());

it('refuses what is written for it until it is there again, and nobody else', async () => {
  const other = await test.register();
  let gone: string | null = test.project.registration.mintAddress;
  const reader: Pick<Chain, 'getAccounts'> = {
    getAccounts: async (addresses) => {
      const states = await test.chain.getAccounts(addresses);
      return states.map((state, at) => (addresses[at] === gone ? null : state));
    },
  };
  const chain = new Proxy<Chain>(test.chain, {
    get: (target, name) => Reflect.get(name in reader ? reader : target, name),
  });
  const engine = engineBeside(test, { verifyToken: verifyEachProject(chain, test.store, 'genesis') });
  await expect(engine.burn(aBurnRequest(1), test.project.call())).rejects.toMatchObject({
    code: 'ERR_UNAVAILABLE',
    message: expect.stringContaining(`The account ${gone} of this project is not a mint`),
  });
  expect((await engine.burn(aBurnRequest(1), other.call())).value.result).toBe('SUCCESS');
  gone = null;
  expect((await engine.burn(aBurnRequest(1), test.project.call())).value.result).toBe('SUCCESS');
});
