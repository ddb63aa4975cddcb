/** What a registration has and has used: balances from the chain, counters from the store. */
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import type { RegistrationStatus } from '../../contract/admin.js';
import type { FlywheelRecord, TokenRecord } from '../../store/records.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { usedToday } from '../daily-cap.js';
import type { EngineDeps } from '../deps.js';
import { registrationView } from './project-records.js';

export async function registrationStatus(
  deps: EngineDeps,
  token: TokenRecord,
  flywheel: FlywheelRecord,
): Promise<RegistrationStatus> {
  const [mint, vaultTokens, vault, burnTokens, burnWallet, owner, operator] = await deps.chain.getAccounts([
    token.mintAddress,
    flywheel.vaultTokenAccount,
    flywheel.vault,
    token.burnTokenAccount,
    token.burnWallet,
    flywheel.owner,
    flywheel.operator,
  ]);
  const used = await deps.store.read((tx) => usedToday(tx, token.id));
  const supply = decodeMint(mint ?? null)?.supply ?? 0n;
  const whole = (amount: bigint): string => formatTokenAmount(amount, token.decimals);
  const tokens = (account: typeof vaultTokens): string =>
    whole(decodeTokenAccount(account ?? null)?.amount ?? 0n);
  const lamports = (account: typeof vault): string => (account?.lamports ?? 0n).toString();
  return {
    ...registrationView(token, flywheel),
    supply: whole(supply),
    burned: whole(token.supply - supply),
    balances: {
      vault: { tokens: tokens(vaultTokens), lamports: lamports(vault) },
      burnWallet: { tokens: tokens(burnTokens), lamports: lamports(burnWallet) },
      owner: { lamports: lamports(owner) },
      operator: { lamports: lamports(operator) },
    },
    usedToday: { burn: whole(used.burn), airdrop: whole(used.airdrop) },
  };
}
