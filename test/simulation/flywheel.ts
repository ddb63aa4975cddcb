/** The flywheel that a world is about: how it is set up, what is known of it then, and who trusts it. */
import type { Opening } from './audit/auditor.js';
import { DECIMALS } from './goods.js';
import type { World } from './kinds.js';

/** What of a world its flywheel is set up with. */
export type Setting = Pick<World, 'vaultTokens' | 'burnCap'>;

/** What `local init` says of it. */
export type Made = Readonly<
  Record<'mintAddress' | 'multisig' | 'operator' | 'vaultAddress' | 'burnWallet', string>
> & {
  readonly owner: { readonly address: string };
  readonly apiKey: { readonly key: string };
};

/** Whole tokens that may be given away a day. */
const AIRDROP_CAP = 60;
const BURN_WALLET_TOKENS = '4000';
const UNITS = 10n ** BigInt(DECIMALS);

export const initWords = ({ vaultTokens, burnCap }: Setting): readonly string[] => [
  ...['local', 'init', '--decimals', String(DECIMALS)],
  ...['--daily-burn', String(burnCap), '--daily-airdrop', String(AIRDROP_CAP)],
  ...['--vault-tokens', String(vaultTokens), '--burn-wallet-tokens', BURN_WALLET_TOKENS],
];

/** Pins all of it; the API key is read from standard input. */
export const profileWords = (made: Made, apiUrl: string): readonly string[] => [
  ...['profile', 'add', 'sim', '--api-url', apiUrl, '--api-key-stdin'],
  ...['--multisig', made.multisig, '--owner', made.owner.address],
  ...['--operator', made.operator, '--mint', made.mintAddress],
];

/** Pins who may act for it and what its token allows, as it is on chain. */
export const PIN_WORDS: readonly string[] = ['profile', 'pin', '--yes'];

export const openingOf = ({ multisig, mintAddress }: Made, { burnCap }: Setting): Opening => ({
  multisig,
  mint: mintAddress,
  burnCap: BigInt(burnCap) * UNITS,
  airdropCap: BigInt(AIRDROP_CAP) * UNITS,
});
