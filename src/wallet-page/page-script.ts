/**
 * Runs in the browser: shows the approval, and lets a wallet sign (Wallet Standard). Only the text of {@link runPage} is sent,
 * so it must use nothing else of this file. The page sets text, never markup.
 */

interface PageElement {
  textContent: string | null;
  className: string;
  hidden: boolean;
  disabled: boolean;
  append(...children: readonly PageElement[]): void;
  replaceChildren(...children: readonly PageElement[]): void;
  addEventListener(type: 'click', listener: () => void): void;
}

interface WalletAccount {
  readonly address: string;
}

/** Every field may have any value: wallets are other people's code. */
interface Wallet {
  readonly name: string;
  readonly chains: readonly string[];
  readonly accounts: readonly WalletAccount[];
  readonly features: {
    readonly 'standard:connect'?: {
      connect(): Promise<{ readonly accounts: readonly WalletAccount[] }>;
    };
    readonly 'solana:signTransaction'?: {
      readonly supportedTransactionVersions: readonly (string | number)[];
      signTransaction(input: {
        readonly account: WalletAccount;
        readonly transaction: Uint8Array;
        readonly chain: string;
      }): Promise<readonly { readonly signedTransaction: Uint8Array }[]>;
    };
  };
}

interface PageWindow {
  readonly document: {
    getElementById(id: string): PageElement;
    createElement(tag: string): PageElement;
  };
  readonly location: { readonly hash: string };
  readonly CustomEvent: new (type: string, options: { readonly detail: unknown }) => object;
  addEventListener(type: string, listener: (event: { readonly detail: unknown }) => void): void;
  dispatchEvent(event: object): void;
  atob(text: string): string;
  btoa(text: string): string;
  fetch(
    path: string,
    options: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly ok: boolean; json(): Promise<unknown> }>;
}

export interface PageFacts {
  readonly title: string;
  readonly warnings: readonly string[];
  /** Totals of the batch, as on the terminal. */
  readonly summary: readonly (readonly [label: string, value: string])[];
  /** Every pipeline, followed by its actions; `marked` actions are unusual. */
  readonly rows: readonly { readonly text: string; readonly kind: 'pipeline' | 'action' | 'marked' }[];
  readonly digest: string | null;
  /** The account that must sign. */
  readonly owner: string;
  /** In the form of the Wallet Standard: `solana:mainnet`. */
  readonly chain: string;
}

export function runPage(page: PageWindow): void {
  /** A message for the user. */
  class PageProblem extends Error {}
  const { document } = page;
  const element = (id: string): PageElement => document.getElementById(id);
  const wallets: Wallet[] = [];
  let facts: PageFacts | undefined;
  let isBusy = false;
  let isOver = false;

  const say = (text: string, kind: 'plain' | 'good' | 'bad' = 'plain'): void => {
    const status = element('status');
    status.textContent = text;
    status.className = kind;
  };

  const post = async <Answer>(path: string, body: object): Promise<Answer> => {
    const headers = { 'content-type': 'application/json', 'x-flywheel-token': page.location.hash.slice(1) };
    const options = {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      credentials: 'omit',
      cache: 'no-store',
    };
    const answer = await page.fetch(path, options);
    if (!answer.ok)
      throw new PageProblem('This link is no longer valid. Run the command again and open its new link.');
    return (await answer.json()) as Answer;
  };

  const made = (tag: string, text: string, className = ''): PageElement => {
    const item = document.createElement(tag);
    item.textContent = text;
    item.className = className;
    return item;
  };

  const problemOf = ({ chains, features }: Wallet, chain: string): string | undefined => {
    const signing = features['solana:signTransaction'];
    if (features['standard:connect'] === undefined || signing === undefined)
      return 'cannot sign transactions. Use another wallet.';
    if (!signing.supportedTransactionVersions.includes(0))
      return 'does not support version 0 transactions. Update it, or use another wallet.';
    return chains.includes(chain)
      ? undefined
      : `does not support ${chain}. Turn this network on in the wallet, or use another wallet.`;
  };

  const buttonOf = (wallet: Wallet, { chain }: PageFacts): PageElement => {
    const problem = problemOf(wallet, chain);
    const button = made(
      'button',
      problem === undefined ? `Approve with ${wallet.name}` : `${wallet.name} ${problem}`,
    );
    button.disabled = isBusy || isOver || problem !== undefined;
    button.addEventListener('click', () => void sign(wallet));
    return button;
  };

  const show = (): void => {
    const now = facts;
    if (now === undefined) return;
    const solana = wallets.filter(({ chains }) => chains.some((chain) => chain.startsWith('solana:')));
    element('wallets').replaceChildren(...solana.map((wallet) => buttonOf(wallet, now)));
    element('no-wallet').hidden = solana.length > 0 || isOver;
    element('decline').disabled = isBusy || isOver;
  };

  const end = (text: string, kind: 'good' | 'bad'): void => {
    isOver = true;
    say(`${text} You can close this page.`, kind);
  };

  const bytesOf = (base64: string): Uint8Array =>
    Uint8Array.from(page.atob(base64), (character) => character.charCodeAt(0));
  const textOf = (bytes: Uint8Array): string => page.btoa(String.fromCharCode(...bytes));
  const reasonOf = (error: unknown): string =>
    error instanceof Error || (typeof error === 'object' && error !== null && 'message' in error)
      ? String(error.message)
      : String(error);

  /** Each attempt fetches a new transaction. `undefined`: the wallet does not offer the owner's account. */
  const signedBy = async (wallet: Wallet, { owner, chain }: PageFacts): Promise<Uint8Array | undefined> => {
    say(`Waiting for ${wallet.name} to connect …`);
    const connected = await wallet.features['standard:connect']?.connect();
    const accounts = [...(connected?.accounts ?? []), ...wallet.accounts];
    const account = accounts.find(({ address }) => address === owner);
    if (account === undefined) {
      const others = [...new Set(accounts.map(({ address }) => address))].join(', ') || 'no account';
      say(
        `${wallet.name} offers ${others}. Choose the account of the owner, ${owner}, in the wallet. Then try again.`,
        'bad',
      );
      return undefined;
    }
    const { transaction, problem } = await post<{ transaction?: string; problem?: string }>(
      '/transaction',
      {},
    );
    if (transaction === undefined) throw new PageProblem(problem);
    say(`Waiting for ${wallet.name} to sign. Check the transaction in the wallet before you confirm …`);
    const input = { account, transaction: bytesOf(transaction), chain };
    const outputs = await wallet.features['solana:signTransaction']?.signTransaction(input);
    const signed = outputs?.[0]?.signedTransaction;
    if (signed === undefined) throw new PageProblem('the wallet returned no transaction');
    return signed;
  };

  const sign = async (wallet: Wallet): Promise<void> => {
    if (facts === undefined || isBusy || isOver) return;
    isBusy = true;
    show();
    try {
      const signed = await signedBy(wallet, facts);
      if (signed !== undefined) {
        say('Signed. Checking and sending the approval …');
        const { state, text } = await post<{ state: string; text: string }>('/signed', {
          transaction: textOf(signed),
        });
        if (state === 'again') say(text, 'bad');
        else end(text, state === 'done' ? 'good' : 'bad');
      }
    } catch (error) {
      say(`${wallet.name} did not sign: ${reasonOf(error)}`, 'bad');
    }
    isBusy = false;
    show();
  };

  const decline = async (): Promise<void> => {
    if (isBusy || isOver) return;
    isBusy = true;
    await post('/decline', {}).catch(() => undefined);
    end('Declined. Nothing was signed.', 'bad');
    show();
  };

  const open = async (): Promise<void> => {
    facts = await post<PageFacts>('/open', {});
    element('title').textContent = facts.title;
    element('warnings').replaceChildren(...facts.warnings.map((text) => made('p', text)));
    const summary = [...facts.summary, ['chain', facts.chain]] as const;
    element('summary').replaceChildren(
      ...summary.flatMap(([label, value]) => [made('dt', label), made('dd', value)]),
      made('dt', 'digest'),
      made('dd', facts.digest ?? 'none', 'code'),
      made('dd', 'Compare it with the one in the terminal.', 'quiet'),
    );
    element('content').replaceChildren(...facts.rows.map(({ text, kind }) => made('div', text, kind)));
    element('facts').hidden = false;
    say("Approve with the owner's wallet.");
    show();
  };

  const register = (...found: readonly Wallet[]): (() => void) => {
    for (const wallet of found) if (!wallets.includes(wallet)) wallets.push(wallet);
    show();
    return () => undefined;
  };
  const api = Object.freeze({ register });
  page.addEventListener('wallet-standard:register-wallet', ({ detail }) => {
    if (typeof detail === 'function') detail(api);
  });
  page.dispatchEvent(new page.CustomEvent('wallet-standard:app-ready', { detail: api }));
  element('decline').addEventListener('click', () => void decline());
  open().catch((error: unknown) => {
    isOver = true;
    say(reasonOf(error), 'bad');
  });
}
