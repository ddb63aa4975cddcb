/**
 * Compares the transactions of every command byte for byte with test/golden/wire. Update with `LONG=1 npx vitest run -u --config
 * test/vitest.config.ts test/e2e/wire.test.ts`. Without LONG=1 only a cluster with the older token program is checked; Token-2022
 * differs in the program only.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Keypair, PublicKey, VersionedTransaction } from '@solana/web3.js';
import * as sqds from '@sqds/multisig';
import { afterAll, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { isLong, sampleOf } from '../support/long.js';
import { rpcResult } from '../support/rpc-call.js';
import { closeStubs, passOn, stubNode } from '../support/rpc-stub.js';
import { emptyDirectory } from '../support/spawn.js';
import { closeTestNodes, startNodeBeside } from '../test-cluster/node.js';
import { type Roles, transactionText } from './wire-text.js';

const TOKEN_PROGRAMS = {
  token: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'token-2022': 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
};
const ASSOCIATED_TOKEN = new PublicKey('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
/** Recent prices of a compute unit in micro-lamports: a low one, and one above every limit here. */
const [PRICE, HIGH_PRICE] = [7_000, 1_000_000_000];
/** The most that a transaction pays, in micro-lamports. */
const HIGHEST_FEE = 50_000_000_000;
/** Start and span of the loaded-accounts limit, whose value makes burns distinct. */
const LOADED_BYTES = 2n ** 25n;

afterAll(closeStubs);
afterAll(closeTestNodes);

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
const keypair = (name: string): Keypair => Keypair.fromSeed(sha256(name));
const recipients = [1, 2, 3, 4, 5].map((number) => keypair(`recipient ${number}`).publicKey.toBase58());

interface Recorded {
  /** Base64, since the last read. */
  readonly sent: Set<string>;
  /** Compute units of all simulations: the owner's transaction was simulated during set-up. */
  readonly tried: Set<number>;
  readonly price: { microLamports: number };
}

/** A node that passes calls on, reports this price, and records sends and the compute units of simulations. */
async function recordingNode(url: string, { sent, tried, price }: Recorded): Promise<string> {
  const stub = await stubNode();
  stub.always = passOn(url, (answer: { result?: { value?: { unitsConsumed: number } } }, call) => {
    if (call.method === 'sendTransaction') sent.add(String(call.params[0]));
    if (call.method === 'simulateTransaction') tried.add(answer.result?.value?.unitsConsumed ?? 0);
    if (call.method !== 'getRecentPrioritizationFees') return answer;
    return { ...answer, result: [{ slot: 1, prioritizationFee: price.microLamports }] };
  });
  return stub.url;
}

interface Registered {
  readonly tokenId: string;
  readonly mintAddress: string;
  readonly multisig: string;
  readonly vaultAddress: string;
  readonly burnWallet: string;
  readonly operator: string;
}

function nameAccounts(
  { names }: Side,
  made: Registered,
  program: string,
  others: Readonly<Record<string, string>>,
): void {
  const wallets = {
    vault: made.vaultAddress,
    'burn wallet': made.burnWallet,
    operator: made.operator,
    ...others,
    ...Object.fromEntries(recipients.map((address, index) => [`recipient ${index + 1}`, address])),
  };
  names.set(made.mintAddress, 'mint').set(made.multisig, 'multisig');
  const mint = new PublicKey(made.mintAddress);
  for (const [name, address] of Object.entries(wallets)) {
    names.set(address, name);
    const seeds = [new PublicKey(address), new PublicKey(program), mint].map((key) => key.toBuffer());
    const [tokens] = PublicKey.findProgramAddressSync(seeds, ASSOCIATED_TOKEN);
    names.set(tokens.toBase58(), `tokens of ${name}`);
  }
  const multisigPda = new PublicKey(made.multisig);
  for (let index = 1n; index <= 6n; index += 1n) {
    const at = (name: string, [address]: [PublicKey, number]) => names.set(address.toBase58(), name);
    at(`batch ${index}`, sqds.getTransactionPda({ multisigPda, index }));
    at(`proposal ${index}`, sqds.getProposalPda({ multisigPda, transactionIndex: index }));
    for (let transactionIndex = 1; transactionIndex <= 3; transactionIndex += 1)
      at(
        `transaction ${transactionIndex} of batch ${index}`,
        sqds.getBatchTransactionPda({ multisigPda, batchIndex: index, transactionIndex }),
      );
  }
}

const sequenceIn = (text: string): number => Number(/sequence (\d+)/.exec(text)?.[1] ?? 0);

class Side {
  readonly home = emptyDirectory();
  readonly dataDir = join(this.home, 'data');
  readonly #lines: string[] = [];
  sent: () => Promise<readonly Uint8Array[]> = async () => [];
  readonly names = new Map<string, string>();
  readonly recorded: Recorded = { sent: new Set(), tried: new Set(), price: { microLamports: PRICE } };
  rule: Roles['rule'] = () => undefined;

  constructor(title: string) {
    this.#lines.push(title);
  }

  async run(words: readonly string[], exit = 0) {
    const ended = await flywheelHere(
      { home: this.home, env: { FLYWHEEL_DATA_DIR: this.dataDir } },
      ...words,
      ...(words[0]?.startsWith('burn') ? ['--yes', '--json'] : ['--json']),
    );
    if (ended.exit !== exit) throw new TypeError(`${words.join(' ')}: ${ended.exit} ${ended.stderr}`);
    return exit === 0 ? JSON.parse(ended.stdout) : undefined;
  }

  async note(title: string): Promise<void> {
    const texts = (await this.sent()).map((wire) => transactionText(wire, this));
    // Burns are sent concurrently, so their order varies.
    texts.sort((one, other) => sequenceIn(one) - sequenceIn(other));
    this.#lines.push(`\n===== ${title}`, ...(texts.length === 0 ? ['nothing is sent'] : []));
    for (const [index, text] of texts.entries())
      this.#lines.push(`\n${index + 1} of ${texts.length}: ${text}`);
  }

  async step(title: string, words: readonly string[], exit = 0) {
    const said = await this.run(words, exit);
    const { id, initResult } = said?.batch ?? {};
    if (initResult !== undefined) this.names.set(id, `<id of batch ${initResult.batchIndex}>`);
    await this.note(title);
    return said;
  }

  write(name: string, content: unknown): string {
    const file = join(this.home, name);
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    return file;
  }

  text = (): string => `${this.#lines.join('\n')}\n`;
}

const burn = (amount: number) => ({ action: 'BURN', amount });
const airdrop = (amount: number, number: number) => ({
  action: 'AIRDROP',
  toAddress: recipients[number - 1],
  amount,
});
const pipelines = (...all: readonly (readonly object[])[]) =>
  all.map((actions, n) => ({ type: 'WATCH_AD', payload: { n }, actions }));

async function useFlywheel(side: Side, owner: string): Promise<void> {
  const proof = ['--type', 'PRODUCT_BUY', '--proof', '{"order":1}', '--amount'];
  await side.step('burn', ['burn', ...proof, '1.5']);
  side.recorded.price.microLamports = HIGH_PRICE;
  await side.step('burn --persist-onchain', ['burn', ...proof, '2', '--persist-onchain']);
  side.recorded.price.microLamports = PRICE;
  const burns = [1, 0.000001, 3].map((burnAmount, index) => ({
    ...{ type: 'WATCH_AD', proof: { index }, burnAmount, persistOnchain: index === 1 },
  }));
  await side.step('burn-batch', ['burn-batch', side.write('burns.json', burns)]);

  const file = side.write(
    'all.json',
    pipelines(
      [burn(1.5)],
      [airdrop(2, 1), { action: 'MEMO', message: 'thank you' }, airdrop(0.000001, 2)],
      [1, 2, 3, 4, 5].map((number) => airdrop(1, number)),
    ),
  );
  const [approval, signed] = [join(side.home, 'approval.json'), join(side.home, 'signed.json')];
  const { batch } = await side.step('batch init', ['batch', 'init', file, '--out', approval]);
  const sign = ['--keypair', owner, '--yes'];
  await side.step('batch approve', [
    ...['batch', 'approve', approval, ...sign, '--expect', file, '--out', signed],
  ]);
  await side.step('batch execute --signed-tx', ['batch', 'execute', batch.id, '--signed-tx', `@${signed}`]);

  const init = async (name: string, ...content: readonly (readonly object[])[]): Promise<string> => {
    const words = ['batch', 'init', side.write(`${name}.json`, pipelines(...content)), '--again'];
    return (await side.step(`batch init (${name})`, words)).batch.id;
  };
  const dear = await init('dear', [burn(1)], [burn(600)], [burn(1)]);
  const dearFile = join(side.home, 'dear.json');
  const run = side.write('run.json', pipelines([burn(500)]));
  const approved = await side.step('batch approve (dear)', [
    'batch',
    'approve',
    dear,
    ...sign,
    '--expect',
    dearFile,
  ]);
  await side.step('batch run', ['batch', 'run', run, ...sign, '--again']);
  await side.step(
    'batch execute, the second pipeline fails',
    ['batch', 'execute', dear, '--signed-tx', approved.signedTx],
    10,
  );
  await side.step('batch cancel, after approval', ['batch', 'cancel', dear, ...sign]);
  const waiting = await init('to be cancelled', [burn(2)]);
  await side.step('batch cancel, before approval', ['batch', 'cancel', waiting, ...sign]);
}

/** Transactions that landed since the last call, in order, filtered by account. */
function landing(url: string, seen: Set<string>) {
  return async (addresses: readonly string[]): Promise<readonly Uint8Array[]> => {
    const fresh: string[] = [];
    for (const address of addresses) {
      const found = await rpcResult<{ signature: string }[]>(url, 'getSignaturesForAddress', address);
      for (const { signature } of found.reverse()) if (!seen.has(signature)) fresh.push(signature);
      for (const signature of fresh) seen.add(signature);
    }
    const terms = { encoding: 'base64', maxSupportedTransactionVersion: 0 };
    return Promise.all(
      fresh.map(async (signature) => {
        const found = await rpcResult<{ transaction: [string] }>(url, 'getTransaction', signature, terms);
        return Buffer.from(found.transaction[0], 'base64');
      }),
    );
  };
}

const keysOf = (wire: Uint8Array | undefined): readonly string[] =>
  VersionedTransaction.deserialize(wire ?? Buffer.of()).message.staticAccountKeys.map(String);

/** The key of the transaction from which the multisig's address is derived. */
const createKeyIn = (wire: Uint8Array | undefined, multisig: string): string =>
  keysOf(wire).find(
    (key) => String(sqds.getMultisigPda({ createKey: new PublicKey(key) })[0]) === multisig,
  ) ?? '';

async function near(kind: keyof typeof TOKEN_PROGRAMS) {
  const side = new Side('Commands on a ledger of their own: what has landed.');
  const made = await side.run([
    ...['local', 'init', '--token-program', kind, '--vault-tokens', '1000', '--burn-wallet-tokens', '100'],
  ]);
  const node = await startNodeBeside(side.dataDir);
  const [first] = await landing(node.url, new Set())([made.multisig]);
  const [treasury = ''] = keysOf(first);
  const { address: owner, keypair: ownerFile } = made.owner;
  const landed = landing(node.url, new Set());
  side.sent = () => landed([treasury, made.multisig, made.burnWallet, made.operator, owner]);
  const others = { owner, treasury, 'create key': createKeyIn(first, made.multisig) };
  nameAccounts(side, made, TOKEN_PROGRAMS[kind], others);
  side.rule = (field, value) =>
    field === 'units' && value < 100_100n ? `100000 + sequence ${value - 100_000n}` : undefined;
  await side.note('local init');
  await side.step('local fund', ['local', 'fund', '--to', 'vault', '--tokens', '5.5', '--sol', '0.5']);
  if (isLong) await useFlywheel(side, ownerFile);
  return { side, url: node.url, treasury, owner, ownerFile, mint: made.mintAddress };
}

/** Numbers of a cluster's transactions that differ between runs. */
function clusterRule({ recorded: { tried } }: Side, tokenId: string): Roles['rule'] {
  const place = BigInt(`0x${sha256(tokenId).toString('hex').slice(0, 7)}`);
  return (field, value) => {
    if (field === 'bytes' && value >= LOADED_BYTES && value < 2n * LOADED_BYTES) {
      const sequence = (value + 100n * LOADED_BYTES - place) % LOADED_BYTES;
      return `2^25 + (hash of the token's id + sequence ${sequence}) mod 2^25`;
    }
    const limits = [...tried].map((units) => Math.ceil(units * 1.2) + 10_000);
    if (field === 'units' && limits.includes(Number(value))) return '10000 + 1.2 * what a trial has used';
    const isHighest = limits.some((limit) => Math.floor(HIGHEST_FEE / limit) === Number(value));
    return field === 'microLamports' && isHighest ? `${HIGHEST_FEE} / the limit of units` : undefined;
  };
}

async function far(
  kind: keyof typeof TOKEN_PROGRAMS,
  { side: bank, url, treasury, owner, ownerFile, mint }: Awaited<ReturnType<typeof near>>,
) {
  const side = new Side('Commands on a cluster: what was sent.');
  const { sent } = side.recorded;
  const cluster = await recordingNode(url, side.recorded);
  const wires = () => [...sent].map((wire) => Buffer.from(wire, 'base64'));
  const operator = keypair('operator');
  const operatorFile = side.write('operator.json', [...operator.secretKey]);
  const held = () => rpcResult<{ value: number }>(url, 'getBalance', operator.publicKey.toBase58());
  await rpcResult(url, 'requestAirdrop', operator.publicKey.toBase58(), 5_000_000_000);
  // The transfer lands with this node's next block.
  while ((await held()).value === 0) await setTimeout(5);
  const register = ['register', '--cluster', cluster, '--mint', mint, '--owner', owner, '--yes'];
  const { registration } = await side.run([...register, '--operator-keypair', operatorFile]);
  const createKey = createKeyIn(wires()[0], registration.multisig);
  nameAccounts(side, registration, TOKEN_PROGRAMS[kind], { owner, treasury, 'create key': createKey });
  side.rule = clusterRule(side, registration.tokenId);
  side.sent = async () => {
    const found = wires();
    sent.clear();
    return found;
  };
  await side.note('register');
  for (const to of [registration.vaultAddress, registration.burnWallet])
    await bank.run(['local', 'fund', '--to', to, '--tokens', '1000', '--sol', '1']);
  await useFlywheel(side, ownerFile);
  return side;
}

it.concurrent.for(sampleOf(['token', 'token-2022'] as const, 1))('with %s', async (kind, { expect }) => {
  const compare = ({ text }: Side, where: string) =>
    expect.soft(text().replaceAll('Token-2022', 'Token')).toMatchFileSnapshot(`../golden/wire/${where}.txt`);
  const ledger = await near(kind);
  if (isLong) await compare(ledger.side, 'ledger');
  await compare(await far(kind, ledger), 'cluster');
});
