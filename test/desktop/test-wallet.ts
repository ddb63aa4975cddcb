/** A test wallet: its in-page part, like an extension's, and its signing part outside the page. */
import type { Page } from 'playwright-core';

/** The part of a wallet that a page sees. */
export interface TestWallet {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly chains?: readonly string[];
  /** `undefined`: never answers. */
  sign(transaction: Uint8Array): Promise<Uint8Array>;
}

const BINDING = 'testWalletSigns';

/** Registers the wallet as the Wallet Standard says: at once, and when a page announces that it is ready. */
export const walletScript = ({
  name,
  addresses,
  chains = ['solana:mainnet', 'solana:localnet'],
}: TestWallet): string => `
(() => {
  const toText = (bytes) => btoa(String.fromCharCode(...bytes));
  const toBytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const chains = ${JSON.stringify(chains)};
  const known = ${JSON.stringify(addresses)}.map((address) => ({ address, chains, features: ['solana:signTransaction'] }));
  let accounts = [];
  const connect = async () => ({ accounts: (accounts = known) });
  const signTransaction = async ({ account, transaction, chain }) => {
    if (!chains.includes(chain)) throw new Error('unknown chain');
    const { signed, problem } = await window.${BINDING}({ address: account.address, transaction: toText(transaction) });
    if (problem !== undefined) throw new Error(problem);
    return [{ signedTransaction: toBytes(signed) }];
  };
  const wallet = {
    version: '1.0.0', name: ${JSON.stringify(name)}, icon: 'data:,', chains,
    get accounts() { return accounts; },
    features: {
      'standard:connect': { version: '1.0.0', connect },
      'solana:signTransaction': { version: '1.0.0', supportedTransactionVersions: ['legacy', 0], signTransaction },
    },
  };
  const register = ({ register: add }) => add(wallet);
  window.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
  window.addEventListener('wallet-standard:app-ready', ({ detail }) => register(detail));
})();`;

/** Connects the in-page wallet to the signer outside. */
export async function giveHands(page: Page, { sign }: TestWallet): Promise<void> {
  await page.exposeBinding(BINDING, async (_source, { transaction }: { readonly transaction: string }) => {
    try {
      const signed = await sign(Uint8Array.from(Buffer.from(transaction, 'base64')));
      return { signed: Buffer.from(signed).toString('base64') };
    } catch (error) {
      return { problem: (error as Error).message };
    }
  });
}
