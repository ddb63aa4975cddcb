/** Which key it is that asks, and what it may do (contract, section 1.7). */
import { requireToken } from './authenticate.js';
import { operation } from './operation.js';

export const describeKey = operation('describeKey', {
  parse: (_input, { principal }) => requireToken(principal),
  perform: async ({ principal: { key, flywheel }, input: token }) => ({
    value: {
      id: key.id,
      name: key.name,
      scopes: [...key.scopes],
      proofTypes: key.proofTypes === null ? null : [...key.proofTypes],
      tokenId: token.id,
      symbol: token.symbol,
      mintAddress: token.mintAddress,
      multisig: flywheel?.multisig ?? null,
      decimals: token.decimals,
    },
    meta: { replayed: false },
  }),
});
