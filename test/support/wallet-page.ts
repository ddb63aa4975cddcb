/** Uses the page of `--wallet` as a browser with a wallet does. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Keypair, VersionedTransaction } from '@solana/web3.js';
import { ending, type Spawned } from './spawn.js';

export const pageIn = (text: string): string | undefined =>
  /http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}(?=\s)/.exec(text)?.[0];

async function open(url: string) {
  const { origin, hash } = new URL(url);
  const post = async (path: string, body: object = {}): Promise<Readonly<Record<string, string>>> => {
    const headers = { origin, 'content-type': 'application/json', 'x-flywheel-token': hash.slice(1) };
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as Record<string, string>;
  };
  await post('/open');
  return post;
}

/** Signs until the page reports the end. @param sign - adds the owner's signature to a transaction. */
export async function signOn(
  url: string,
  sign: (wire: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<void> {
  const post = await open(url);
  for (let state: string | undefined = 'again'; state === 'again'; ) {
    const { transaction = '' } = await post('/transaction');
    const wire = await sign(Buffer.from(transaction, 'base64'));
    ({ state } = await post('/signed', { transaction: Buffer.from(wire).toString('base64') }));
  }
}

export async function declineOn(url: string): Promise<void> {
  const post = await open(url);
  await post('/decline');
}

/** Uses the page of a command as soon as it appears. @returns the end of the command, and the number of its pages. */
export async function withPage(
  child: ChildProcess,
  use: (url: string) => Promise<unknown>,
): Promise<Spawned & { readonly pages: number }> {
  const pages = new Set<string>();
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const url = pageIn(text);
    if (url === undefined || pages.has(url)) return;
    pages.add(url);
    void use(url);
  });
  return { ...(await ending(child)), pages: pages.size };
}

/** @param keypair - a file @returns what adds its signature to a transaction. */
export function signerOf(keypair: string): (wire: Uint8Array) => Uint8Array {
  const signer = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(readFileSync(keypair, 'utf8'))));
  return (wire) => {
    const transaction = VersionedTransaction.deserialize(wire);
    transaction.sign([signer]);
    return transaction.serialize();
  };
}
