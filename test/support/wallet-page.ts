/** The page of `--wallet`, used as a browser with a wallet does. */
import { addSignature } from '../../src/approval/check-vote.js';
import type { KeypairSigner } from '../../src/chain/transaction/sign.js';

/** Its address in what a command says. */
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

/** Signs at once, until it is told that it is over. */
export async function signOn(url: string, owner: KeypairSigner): Promise<void> {
  const post = await open(url);
  for (let state: string | undefined = 'again'; state === 'again'; ) {
    const { transaction = '' } = await post('/transaction');
    const wire = addSignature(Buffer.from(transaction, 'base64'), owner);
    ({ state } = await post('/signed', { transaction: Buffer.from(wire).toString('base64') }));
  }
}

export async function declineOn(url: string): Promise<void> {
  const post = await open(url);
  await post('/decline');
}
