/** What a flywheel is held against: as a profile states it, or, of one that was registered here, as it was made. */
import { multisigFacts, tokenFacts } from '../approval/flywheel-facts.js';
import type { Pins } from '../approval/pins.js';
import type { Flywheel } from '../chain/flywheel.js';
import { TOKEN_2022_PROGRAM } from '../chain/programs.js';
import type { Simulator } from '../chain/simulator.js';
import { TOKEN_EXTENSION } from '../chain/tokens/accounts.js';
import type { PinnedFlywheel } from '../cli/config/settings.js';
import { registeredMultisig } from '../engine/admin/register.js';
import { address } from '../values/address.js';

/** Pins as a profile or a file has them. */
export const pinsOf = ({ multisig, owner, operator, vaultIndex, mint, facts }: PinnedFlywheel): Pins => ({
  multisig: address(multisig),
  owner: address(owner),
  operator: address(operator),
  vaultIndex,
  mint: address(mint),
  facts: facts ?? null,
});

/** Who holds the data directory holds the operator's key; what else may act for the flywheel is as it was registered. */
export function registeredPins(flywheel: Flywheel): Pins {
  const { multisig, owner, operator, vault, vaultIndex, mint, decimals, tokenProgram } = flywheel;
  // The associated-token program makes accounts of Token-2022 with an owner that cannot be changed.
  const extensions =
    tokenProgram === TOKEN_2022_PROGRAM
      ? [{ type: TOKEN_EXTENSION.immutableOwner, data: new Uint8Array() }]
      : [];
  const facts = {
    ...multisigFacts(registeredMultisig(flywheel)),
    ...tokenFacts(
      flywheel.vaultTokenAccount,
      { tokenProgram, decimals, mintAuthority: null, freezeAuthority: null, extensions: [] },
      { owner: vault, delegate: null, closeAuthority: null, frozen: false, extensions },
    ),
  };
  return { multisig, owner, operator, vaultIndex, mint, facts };
}

/** The machine is loaded when it is first asked for. */
export async function openSimulator(): Promise<Simulator> {
  const { createSimulator } = await import('../chain/local/simulator.js');
  return createSimulator();
}
