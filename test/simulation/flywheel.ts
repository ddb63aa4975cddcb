/** The flywheel that a world is about: how it is set up, what is known of it then, and who trusts it. */
import type { Opening } from './auditor.js';
import { DECIMALS } from './goods.js';

/** What `local init` says of it. */
export type Made = Readonly<Record<'mintAddress' | 'multisig' | 'operator', string>> & {
  readonly owner: { readonly address: string };
  readonly apiKey: { readonly key: string };
};

const BURN_CAP = 600;
const AIRDROP_CAP = 60;
const UNITS = 10n ** BigInt(DECIMALS);

/** A poor vault does not hold all that its batches want, so that some fail halfway. */
export const vaultTokens = (isPoor: boolean): string => (isPoor ? '120' : '4000');

export const initWords = (tokens: string): readonly string[] => [
  ...['local', 'init', '--decimals', String(DECIMALS)],
  ...['--daily-burn', String(BURN_CAP), '--daily-airdrop', String(AIRDROP_CAP)],
  ...['--vault-tokens', tokens, '--burn-wallet-tokens', '4000'],
];

/** Pins all of it; the API key is read from standard input. */
export const profileWords = (made: Made, apiUrl: string): readonly string[] => [
  ...['profile', 'add', 'sim', '--api-url', apiUrl, '--api-key-stdin'],
  ...['--multisig', made.multisig, '--owner', made.owner.address],
  ...['--operator', made.operator, '--mint', made.mintAddress],
];

export const openingOf = ({ mintAddress }: Made): Opening => ({
  mint: mintAddress,
  burnCap: BigInt(BURN_CAP) * UNITS,
  airdropCap: BigInt(AIRDROP_CAP) * UNITS,
});
