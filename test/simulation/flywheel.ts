/** Sets up a world's project, and pins it for its users. */
import type { Opening } from './audit/auditor.js';
import { DECIMALS } from './goods.js';
import type { World } from './kinds.js';

export type Setting = Pick<World, 'vaultTokens' | 'burnCap'>;

export type Made = Readonly<
  Record<'mintAddress' | 'multisig' | 'operator' | 'vaultAddress' | 'burnWallet', string>
> & {
  readonly owner: { readonly address: string };
  readonly apiKey: { readonly file: string };
};

/** Whole tokens a day. */
const AIRDROP_CAP = 60;
const BURN_WALLET_TOKENS = '4000';
const UNITS = 10n ** BigInt(DECIMALS);

export const initWords = ({ vaultTokens, burnCap }: Setting): readonly string[] => [
  ...['local', 'init', '--decimals', String(DECIMALS)],
  ...['--daily-burn', String(burnCap), '--daily-airdrop', String(AIRDROP_CAP)],
  ...['--vault-tokens', String(vaultTokens), '--burn-wallet-tokens', BURN_WALLET_TOKENS],
];

/** Creates a profile with all pins; the API key comes from standard input. */
export const profileWords = (made: Made, apiUrl: string): readonly string[] => [
  ...['profile', 'add', 'sim', '--api-url', apiUrl, '--api-key-stdin'],
  ...['--multisig', made.multisig, '--owner', made.owner.address],
  ...['--operator', made.operator, '--mint', made.mintAddress],
];

/** Pins the members and the token's properties as they are on chain. */
export const PIN_WORDS: readonly string[] = ['profile', 'pin', '--yes'];

export const openingOf = ({ multisig, mintAddress }: Made, { burnCap }: Setting): Opening => ({
  multisig,
  mint: mintAddress,
  burnCap: BigInt(burnCap) * UNITS,
  airdropCap: BigInt(AIRDROP_CAP) * UNITS,
});
