/** Where people look at what is on a public cluster: the addresses of Solana's own explorer. */

/** What a page is about. */
export type ExplorerPage = 'tx' | 'address';

const EXPLORER = 'https://explorer.solana.com';
const MAINNET = 'mainnet-beta';

/**
 * The page of a transaction or an address.
 * @param cluster - name of a public cluster.
 */
export const explorerLink = (cluster: string, page: ExplorerPage, id: string): string =>
  `${EXPLORER}/${page}/${encodeURIComponent(id)}${cluster === MAINNET ? '' : `?cluster=${cluster}`}`;
