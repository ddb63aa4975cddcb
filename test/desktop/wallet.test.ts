/** The owner approves a batch with a browser wallet: the built program, a real Chromium, and several kinds of wallets. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIGHTHOUSE_PROGRAM } from '../../src/chain/programs.js';
import { setComputeUnitLimit, setComputeUnitPrice, transfer } from '../../src/chain/small-programs.js';
import {
  type Instruction,
  instructionsOf,
  readonlyAccount,
  staticAccounts,
} from '../../src/chain/transaction/message.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../src/chain/transaction/sign.js';
import { compileV0Message, decodeTransaction, encodeTransaction } from '../../src/chain/transaction/wire.js';
import { base58Encode } from '../../src/values/bytes.js';
import { anOperator, ending, type Operator, problemOf } from '../e2e/operator.js';
import { partiallySign } from '../support/chain.js';
import type { Spawned } from '../support/spawn.js';
import { type OpenPage, openBrowser } from './browser.js';
import { giveHands, type TestWallet, walletScript } from './test-wallet.js';

const PIPELINES = {
  pipelines: [{ type: 'WATCH_AD', payload: { viewId: 7 }, actions: [{ action: 'BURN', amount: '12.5' }] }],
};

const stranger = createKeypairSigner(generateKeypair());
const ASSERTION: Instruction = {
  program: LIGHTHOUSE_PROGRAM,
  accounts: [readonlyAccount(stranger.address)],
  data: Uint8Array.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4]),
};

/** No pending approval; the waiting batch itself is not listed. */
const PENDING: readonly unknown[] = [];

let operator: Operator;
let owner: KeypairSigner;
let batchId: string;
let opened: OpenPage[];

beforeEach(async () => {
  opened = [];
  operator = await anOperator('embedded');
  owner = createKeypairSigner(Uint8Array.from(JSON.parse(readFileSync(operator.owner, 'utf8'))));
  operator.write('pipelines.json', PIPELINES);
  const { stdout } = await operator.run('batch', 'init', 'pipelines.json', '--json');
  batchId = JSON.parse(stdout).batch.id;
});
afterEach(async () => {
  for (const { close } of opened) await close();
  await operator.leave();
});

interface Running {
  readonly url: string;
  readonly ended: Promise<Spawned>;
  interrupt(): void;
}

async function approving(...words: readonly string[]): Promise<Running> {
  const options = ['--wallet', '--expect', 'pipelines.json', ...words];
  const child = operator.start('batch', 'approve', batchId, ...options);
  const ended = ending(child);
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}(?=\s)/.exec(text)?.[0];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new TypeError(`No page: ${text}`)));
  });
  return { url, ended, interrupt: () => child.kill('SIGINT') };
}

async function visiting(url: string, wallet: TestWallet | null): Promise<OpenPage> {
  const browser = await openBrowser(wallet === null ? '' : walletScript(wallet));
  opened.push(browser);
  if (wallet !== null) await giveHands(browser.page, wallet);
  await browser.page.goto(url);
  return browser;
}

const aWallet = (change: (wire: Uint8Array) => Uint8Array = (wire) => wire): TestWallet => ({
  name: 'Testwallet',
  addresses: [owner.address],
  sign: async (wire) => {
    const { messageBytes, message } = decodeTransaction(change(wire));
    const signatures = message.staticKeys
      .slice(0, message.signers)
      .map((key) => (key === owner.address ? owner.signNow(messageBytes) : new Uint8Array(64)));
    return encodeTransaction(signatures, messageBytes);
  },
});

/** The same transaction with other instructions, payer or blockhash. */
const remade =
  (change: {
    readonly before?: readonly Instruction[];
    readonly after?: readonly Instruction[];
    readonly payer?: KeypairSigner;
    readonly blockhash?: string;
  }) =>
  (wire: Uint8Array): Uint8Array => {
    const { message } = decodeTransaction(wire);
    const { before = [], after = [], payer = owner } = change;
    const vote = instructionsOf(message, staticAccounts(message)) ?? [];
    const instructions = [...before, ...vote, ...after];
    const blockhash = change.blockhash ?? base58Encode(message.blockhash);
    return partiallySign(
      compileV0Message({ payer: payer.address, instructions, blockhash }),
      payer === owner ? [] : [payer],
    );
  };

const click = (page: OpenPage['page'], name: string) => page.getByRole('button', { name }).click();
const statusOf = (page: OpenPage['page'], text: string | RegExp) =>
  page.getByRole('status').filter({ hasText: text }).waitFor();

describe('batch approve --wallet', () => {
  it('shows what the batch does, has it signed, sends it, and execute needs no more', async () => {
    const { url, ended } = await approving('--json');
    const { page, requests, complaints } = await visiting(url, aWallet());
    await statusOf(page, 'Approve with the owner');
    const [origin] = url.split('#');
    const text = await page.locator('main').innerText();
    const digest = /sha256:[0-9a-f]{64}/.exec(text)?.[0];
    for (const part of [batchId, owner.address, 'solana:localnet', '12.5']) expect(text).toContain(part);
    await click(page, 'Approve with Testwallet');
    await statusOf(page, `Batch ${batchId} is approved`);
    const { exit, stdout, stderr } = await ended;
    expect(stderr).toContain(digest);
    const { signature } = JSON.parse(stdout);
    expect({ exit, value: JSON.parse(stdout) }).toEqual({
      exit: 0,
      value: { batchId, approved: true, signature },
    });
    expect(requests.every((request) => request.startsWith(origin ?? ''))).toBe(true);
    expect(complaints).toEqual([]);
    const executed = await operator.run('batch', 'execute', batchId, '--json');
    expect(JSON.parse(executed.stdout).result).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
  });

  it('accepts a price and a limit of compute units, and says what they cost', async () => {
    const budget = [setComputeUnitLimit(100_000), setComputeUnitPrice(20_000n)];
    const { url, ended } = await approving('--json');
    const { page } = await visiting(url, aWallet(remade({ before: budget })));
    await click(page, 'Approve with Testwallet');
    const { exit, stdout, stderr } = await ended;
    expect(stderr).toContain('The wallet added a priority fee of at most 2000 lamports.');
    expect({ exit, value: JSON.parse(stdout) }).toMatchObject({
      exit: 0,
      value: { batchId, approved: true },
    });
  });

  it('sends what carries assertions of Lighthouse', async () => {
    // The embedded chain lacks that program and refuses the transaction.
    const { url, ended } = await approving('--json', '--wait', '4');
    const { page } = await visiting(url, aWallet(remade({ after: [ASSERTION] })));
    await click(page, 'Approve with Testwallet');
    const first = await ended;
    expect(first.stderr).toContain('The wallet added Lighthouse assertions: AssertAccountInfo.');
    expect([first.exit, problemOf(first).error]).toEqual([7, 'ERR_OUTCOME_UNKNOWN']);
    expect(await operator.pending()).toEqual(PENDING);
  });

  it.each([
    [
      'a transfer',
      () => remade({ after: [transfer({ from: owner.address, to: stranger.address, lamports: 1n })] }),
      'an instruction of the program 11111111111111111111111111111111',
    ],
    [
      'a Lighthouse instruction that writes',
      () => remade({ after: [{ ...ASSERTION, data: Uint8Array.of(0, 0) }] }),
      'MemoryWrite of the program Lighthouse',
    ],
    ['another payer', () => remade({ payer: stranger }), `is paid by ${stranger.address}`],
    [
      'another blockhash',
      () => remade({ blockhash: stranger.address }),
      `the blockhash to ${stranger.address}`,
    ],
    [
      'a fee without bounds',
      () => remade({ before: [setComputeUnitLimit(1_400_000), setComputeUnitPrice(10n ** 12n)] }),
      'priority fee of',
    ],
  ])('refuses a wallet that comes back with %s, and sends nothing', async (_name, change, reason) => {
    const { url, ended } = await approving('--json');
    const { page } = await visiting(url, aWallet(change()));
    await click(page, 'Approve with Testwallet');
    await statusOf(page, reason);
    const spawned = await ended;
    expect([spawned.exit, problemOf(spawned).error]).toEqual([9, 'ERR_APPROVAL_REFUSED']);
    expect(problemOf(spawned).message).toContain(reason);
    expect(await operator.pending()).toEqual(PENDING);
    const needed = await operator.run('batch', 'execute', batchId, '--json');
    expect(problemOf(needed).error).toBe('ERR_USAGE');
  });

  it('lets who refused in the wallet try again, or decline', async () => {
    let isAsked = false;
    const unwilling: TestWallet = {
      ...aWallet(),
      sign: async () => {
        isAsked = true;
        throw new TypeError('User rejected the request.');
      },
    };
    const { url, ended } = await approving('--json');
    const { page } = await visiting(url, unwilling);
    await click(page, 'Approve with Testwallet');
    await statusOf(page, 'Testwallet did not sign: User rejected the request.');
    expect(isAsked).toBe(true);
    expect(await page.getByRole('button', { name: 'Approve with Testwallet' }).isEnabled()).toBe(true);
    await click(page, 'Decline');
    await statusOf(page, 'Declined. Nothing was signed.');
    const spawned = await ended;
    expect([spawned.exit, problemOf(spawned).error]).toEqual([130, 'ERR_DECLINED']);
    expect(await operator.pending()).toEqual(PENDING);
  });

  it('does not wait for ever for a wallet that stays silent', async () => {
    const silent: TestWallet = { ...aWallet(), sign: () => new Promise(() => undefined) };
    const { url, ended } = await approving('--json', '--wait', '5');
    const { page } = await visiting(url, silent);
    await click(page, 'Approve with Testwallet');
    await statusOf(page, 'Waiting for Testwallet to sign');
    const spawned = await ended;
    expect([spawned.exit, problemOf(spawned).error]).toEqual([8, 'ERR_TIMEOUT']);
    expect(await operator.pending()).toEqual(PENDING);
  });

  it('asks for the account of the owner where the wallet offers another', async () => {
    const { url, ended, interrupt } = await approving('--json');
    const { page } = await visiting(url, { ...aWallet(), addresses: [stranger.address] });
    await click(page, 'Approve with Testwallet');
    await statusOf(
      page,
      `Testwallet offers ${stranger.address}. Choose the account of the owner, ${owner.address}`,
    );
    interrupt();
    expect((await ended).exit).toBe(130);
  });

  it('does not offer a wallet that does not know the chain, and says where there is none', async () => {
    const { url, ended, interrupt } = await approving();
    const { page } = await visiting(url, { ...aWallet(), chains: ['solana:mainnet'] });
    const button = page.getByRole('button', { name: 'Testwallet does not support solana:localnet' });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    interrupt();
    await ended;
    const bare = await approving();
    const alone = await visiting(bare.url, null);
    await alone.page.locator('#no-wallet').waitFor();
    bare.interrupt();
    await bare.ended;
  });

  it('can be opened again until it is signed or declined, and is gone afterwards', async () => {
    const { url, ended } = await approving();
    const first = await visiting(url, aWallet());
    await statusOf(first.page, 'Approve with the owner');
    await first.page.reload();
    await statusOf(first.page, 'Approve with the owner');
    const other = await visiting(url, aWallet());
    await click(other.page, 'Approve with Testwallet');
    await statusOf(other.page, `Batch ${batchId} is approved`);
    expect(await ended).toMatchObject({ exit: 0 });
    const [origin = ''] = url.split('#');
    await expect(fetch(origin)).rejects.toThrow();
    await click(first.page, 'Approve with Testwallet');
    await statusOf(first.page, 'did not sign');
  });

  it.each(['light', 'dark'] as const)(
    'can be read in %s, by keyboard and by a reader',
    async (colorScheme) => {
      const { url, ended, interrupt } = await approving();
      const wallet = aWallet();
      const browser = await openBrowser(walletScript(wallet), { colorScheme });
      opened.push(browser);
      const { page } = browser;
      await page.goto(url);
      await page.getByRole('button', { name: 'Approve with Testwallet' }).waitFor();
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toMatch(
        /^(Burn|Airdrop) .* of the vault\)\?$/,
      );
      // The scrolling list of pipelines must be focusable too.
      for (const focus of [/12\.5/, /^Approve with Testwallet$/]) {
        await page.keyboard.press('Tab');
        expect(await page.locator(':focus').innerText()).toMatch(focus);
      }
      // WCAG AA: 4.5 to 1 for text of this size.
      for (const place of ['h1', '.quiet', '#content .action', '.code', '#wallets button', '#decline'])
        expect(await contrastOf(page, place), `${place} in ${colorScheme}`).toBeGreaterThan(4.5);
      interrupt();
      await ended;
    },
  );
});

/** Contrast ratio of text and background (WCAG 2, relative luminance). */
const contrastOf = (page: OpenPage['page'], place: string): Promise<number> =>
  page.locator(place).first().evaluate(CONTRAST) as Promise<number>;

const CONTRAST = new Function(
  'element',
  `const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  let ground = element;
  while (numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  const both = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor].map(numbers).map(light);
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);`,
) as never;
