/** Records of a registration as the command line shows them. */
import type { Registration } from '../../contract/admin.js';
import type { FlywheelRecord, TokenRecord } from '../../store/records.js';
import { formatTokenAmount } from '../../values/token-amount.js';

export function registrationView(token: TokenRecord, flywheel: FlywheelRecord): Registration {
  const cap = (amount: bigint | null): string | null =>
    amount === null ? null : formatTokenAmount(amount, token.decimals);
  return {
    tokenId: token.id,
    name: token.name,
    symbol: token.symbol,
    mintAddress: token.mintAddress,
    decimals: token.decimals,
    tokenProgram: token.tokenProgram,
    tokenGeneration: token.generation,
    flywheelId: flywheel.id,
    multisig: flywheel.multisig,
    vaultIndex: flywheel.vaultIndex,
    vaultAddress: flywheel.vault,
    burnWallet: token.burnWallet,
    owner: flywheel.owner,
    operator: flywheel.operator,
    proofTypes: flywheel.proofTypes,
    dailyLimits: { burn: cap(flywheel.dailyBurnCap), airdrop: cap(flywheel.dailyAirdropCap) },
  };
}
