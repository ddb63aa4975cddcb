/** A registration plan for tests of `register`. */

import type { Openers } from '../../../src/compose/context.js';
import type { RegistrationPlan } from '../../../src/compose/registration/registrar.js';
import type { Registration } from '../../../src/engine/admin/project.js';
import { namedAddress } from '../../support/oracle.js';

export const PLAN: RegistrationPlan = {
  cluster: { name: 'devnet', genesisHash: namedAddress('genesis') },
  ...{ mint: namedAddress('mint'), name: 'SHOP', symbol: 'SHOP', decimals: 6, tokenProgram: 'token' },
  ...{ owner: namedAddress('owner'), operator: namedAddress('operator'), vaultIndex: 0 },
  ...{ burnWallet: namedAddress('burn wallet'), multisig: namedAddress('multisig') },
  vault: namedAddress('vault'),
  steps: [
    { what: 'multisig', address: namedAddress('multisig'), isThere: false, rentLamports: '2268960' },
    { what: 'vaultTokenAccount', address: namedAddress('at'), isThere: true, rentLamports: '0' },
  ],
  costs: {
    ...{ rentLamports: '2268960', squadsFeeLamports: '100000000', squadsTreasury: namedAddress('squads') },
    ...{ feeLamports: '10000', maxPriorityFeeLamports: '50000', totalLamports: '102328960' },
    ...{ operatorLamports: '1000000000', missingLamports: '0' },
  },
  facts: { threshold: '2', 'mint.mintAuthority': 'none' },
  irreversible: ['The multisig cannot be closed.', 'Nobody can take the vault back.'],
  warnings: ['Somebody can mint more tokens.'],
  state: 'new',
};

const registration: Registration = {
  ...{ tokenId: 't', name: 'SHOP', symbol: 'SHOP', mintAddress: PLAN.mint, decimals: 6 },
  ...{ tokenProgram: 'token', tokenGeneration: 'v1', flywheelId: 'f', multisig: namedAddress('multisig') },
  ...{ vaultIndex: 0, vaultAddress: namedAddress('vault'), burnWallet: namedAddress('burn wallet') },
  ...{
    owner: PLAN.owner,
    operator: PLAN.operator,
    proofTypes: ['A'],
    dailyLimits: { burn: null, airdrop: null },
  },
};

/** Returns this plan, and executes it after a confirmation. */
export const registering =
  (plan: RegistrationPlan, done: string[] = []): Openers['register'] =>
  async (_settings, _cluster, { agree }) => {
    if (!(await agree(plan))) return plan;
    done.push('performed');
    return {
      ...{ cluster: plan.cluster, registration, txHash: 'signature' },
      apiKey: { id: 'k', key: 'fk_secret', name: null, scopes: ['burn'] as const },
    };
  };
