/** Access to the loopback page: served once, to a browser that has its address, and refused to others. */
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import type { PageFacts } from '../../../src/wallet-page/page-script.js';
import { servePage, type Taken } from '../../../src/wallet-page/serve-page.js';

const FACTS: PageFacts = {
  title: 'Approve </script><b>batch</b>',
  warnings: [],
  summary: [['burns', '1 FLY']],
  rows: [{ text: 'burn 1', kind: 'action' }],
  digest: null,
  owner: 'Owner',
  chain: 'solana:localnet',
};
const UNSIGNED = Uint8Array.of(1, 2, 3);

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A request with arbitrary headers, which a browser does not let a page send. */
function ask(
  url: URL,
  {
    method = 'POST',
    path = '/',
    headers = {},
    body = '{}',
  }: Partial<Record<'method' | 'path' | 'body', string>> & {
    readonly headers?: Record<string, string>;
  },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: url.hostname, port: url.port, method, path, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const { statusCode = 0 } = response;
        resolve({ status: statusCode, headers: response.headers, body: Buffer.concat(parts).toString() });
      });
    });
    sent.once('error', reject);
    sent.end(method === 'GET' ? '' : body);
  });
}

const running: AbortController[] = [];
afterEach(() => {
  for (const controller of running.splice(0)) controller.abort();
});

async function serving(
  take: (wire: Uint8Array) => Promise<Taken<string>> = async () => ({
    state: 'done',
    text: 'sent',
    result: 'yes',
  }),
  more: { readonly prepare?: () => Promise<Uint8Array>; readonly timeoutMs?: number } = {},
) {
  const controller = new AbortController();
  running.push(controller);
  let ended: Promise<string | FlywheelError> = Promise.resolve('not started');
  const url = await new Promise<URL>((resolve) => {
    ended = servePage<string>({
      ...{
        facts: FACTS,
        prepare: async () => UNSIGNED,
        take,
        timeoutMs: 60_000,
        signal: controller.signal,
        ...more,
      },
      onListening: (text) => resolve(new URL(text)),
    }).catch((error: FlywheelError) => error);
  });
  const own = { host: url.host, origin: url.origin, 'content-type': 'application/json' };
  const post = (path: string, token: string, body: object = {}) =>
    ask(url, { path, headers: { ...own, 'x-flywheel-token': token }, body: JSON.stringify(body) });
  return { url, own, token: url.hash.slice(1), ended, post, interrupt: () => controller.abort() };
}

const SIGNED = { transaction: Buffer.from([9, 9]).toString('base64') };

/** A page that holds the signature it has taken, until the test finishes it. */
async function holding() {
  let finish: (taken: Taken<string>) => void = () => undefined;
  let started: () => void = () => undefined;
  const isTaken = new Promise<void>((resolve) => (started = resolve));
  const page = await serving(() => {
    started();
    return new Promise((resolve) => (finish = resolve));
  });
  return { page, isTaken, finish: (taken: Taken<string>) => finish(taken) };
}

describe('servePage', () => {
  it('serves a page that loads nothing, may be framed by nobody, and is stored nowhere', async () => {
    const { url, own } = await serving();
    const { status, headers, body } = await ask(url, { method: 'GET', headers: { host: own.host } });
    expect([url.hostname, status]).toEqual(['127.0.0.1', 200]);
    const nonce = /<script nonce="([\w-]{43})">/.exec(body)?.[1];
    expect(headers['content-security-policy']).toBe(
      [
        `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; img-src data:`,
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      ].join('; '),
    );
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(body).not.toMatch(/(?:src|href)="(?!data:,")/);
    // The batch's contents are not in it; they require the token.
    expect(body).not.toContain('burn 1');
    const again = await ask(url, { method: 'GET', headers: { host: own.host } });
    expect(again.body).not.toContain(nonce);
  });

  it('gives its content for the token, as often as it is opened, and hands out and takes a transaction', async () => {
    const taken: Uint8Array[] = [];
    const page = await serving(async (wire) => {
      taken.push(wire);
      return taken.length === 1
        ? { state: 'again', text: 'expired' }
        : { state: 'done', text: 'sent', result: 'landed' };
    });
    for (const _ of [1, 2]) expect(JSON.parse((await page.post('/open', page.token)).body)).toEqual(FACTS);
    const secret = page.token;
    const { transaction } = JSON.parse((await page.post('/transaction', secret)).body);
    expect(Uint8Array.from(Buffer.from(transaction, 'base64'))).toEqual(UNSIGNED);
    expect(JSON.parse((await page.post('/signed', secret, SIGNED)).body)).toEqual({
      state: 'again',
      text: 'expired',
    });
    expect(JSON.parse((await page.post('/signed', secret, SIGNED)).body)).toEqual({
      state: 'done',
      text: 'sent',
    });
    expect(await page.ended).toBe('landed');
    expect(taken.map((wire) => [...wire])).toEqual([
      [9, 9],
      [9, 9],
    ]);
    await expect(page.post('/signed', secret, SIGNED)).rejects.toThrow('ECONNREFUSED');
  });

  it.each([
    ['another host', { host: 'evil.example' }],
    ['the same address under a name', { host: 'localhost' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin', { origin: '' }],
    ['a form', { 'content-type': 'text/plain' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a token that is wrong', { 'x-flywheel-token': 'A'.repeat(43) }],
    ['no token', { 'x-flywheel-token': '' }],
  ])('has nothing for %s, and the token stays good', async (_name, headers) => {
    const { url, own, token, post } = await serving();
    const answer = await ask(url, {
      path: '/open',
      headers: { ...own, 'x-flywheel-token': token, ...headers },
    });
    expect(answer.status).toBe(404);
    expect(answer.body).not.toContain('FLY');
    expect((await post('/open', token)).status).toBe(200);
  });

  it.each([
    ['GET', '/open'],
    ['GET', '/favicon.ico'],
    ['OPTIONS', '/open'],
    ['PUT', '/'],
    ['POST', '/'],
    ['POST', '/other'],
  ])('has nothing at %s %s', async (method, path) => {
    const { url, own, token } = await serving();
    const answer = await ask(url, { method, path, headers: { ...own, 'x-flywheel-token': token } });
    expect(answer.status).toBe(404);
    expect(answer.headers).not.toHaveProperty('access-control-allow-methods');
  });

  it.each([
    ['too much', 'x'.repeat(5_000)],
    ['no JSON', '{'],
    ['no transaction', '{"transaction":7}'],
  ])('does not take %s', async (_name, body) => {
    const page = await serving(() => Promise.reject(new TypeError('taken')));
    const secret = page.token;
    const headers = { ...page.own, 'x-flywheel-token': secret };
    const answer = await ask(page.url, { path: '/signed', headers, body }).catch(() => ({ status: 404 }));
    expect(answer.status).toBe(404);
    expect((await page.post('/transaction', secret)).status).toBe(200);
  });

  it('takes one transaction at a time', async () => {
    let finish: (taken: Taken<string>) => void = () => undefined;
    const page = await serving(() => new Promise((resolve) => (finish = resolve)));
    const secret = page.token;
    const first = page.post('/signed', secret, SIGNED);
    await expect.poll(async () => (await page.post('/signed', secret, SIGNED)).status).toBe(404);
    expect((await page.post('/decline', secret)).status).toBe(404);
    finish({ state: 'done', text: 'sent', result: 'first' });
    await first;
    expect(await page.ended).toBe('first');
  });

  it('ends with what refuses a transaction, and says so on the page', async () => {
    const page = await serving(() => Promise.reject(new FlywheelError('ERR_APPROVAL_REFUSED', 'Not that.')));
    const answer = await page.post('/signed', page.token, SIGNED);
    expect(JSON.parse(answer.body)).toEqual({ state: 'refused', text: 'Not that.' });
    expect(await page.ended).toMatchObject({ code: 'ERR_APPROVAL_REFUSED' });
  });

  it('shows why no transaction could be made, and stays', async () => {
    const prepare = () => Promise.reject(new FlywheelError('ERR_UNAVAILABLE', 'The chain is out of reach.'));
    const page = await serving(undefined, { prepare });
    const secret = page.token;
    const { body } = await page.post('/transaction', secret);
    expect(JSON.parse(body)).toEqual({ problem: 'The chain is out of reach.' });
    await page.post('/decline', secret);
    expect(await page.ended).toMatchObject({ code: 'ERR_DECLINED' });
  });

  it('ends when nobody comes, and when it is interrupted', async () => {
    const late = await serving(undefined, { timeoutMs: 50 });
    expect(await late.ended).toMatchObject({ code: 'ERR_TIMEOUT' });
    const stopped = await serving();
    stopped.interrupt();
    expect(await stopped.ended).toMatchObject({ code: 'ERR_INTERRUPTED' });
    await expect(stopped.post('/open', stopped.token)).rejects.toThrow('ECONNREFUSED');
  });

  it('goes on with what is being sent when it is interrupted', async () => {
    const { page, isTaken, finish } = await holding();
    const answer = page.post('/signed', page.token, SIGNED);
    await isTaken;
    page.interrupt();
    finish({ state: 'done', text: 'sent', result: 'landed' });
    await answer;
    expect(await page.ended).toBe('landed');
  });

  it('ends with what was taken although the browser is gone by then', async () => {
    const { page, isTaken, finish } = await holding();
    const headers = { ...page.own, 'x-flywheel-token': page.token };
    const sent = request({
      host: page.url.hostname,
      port: page.url.port,
      method: 'POST',
      path: '/signed',
      headers,
    });
    const isGone = new Promise((resolve) => sent.once('close', resolve));
    sent.on('error', () => undefined).end(JSON.stringify(SIGNED));
    await isTaken;
    sent.destroy();
    await isGone;
    // The server has seen it too once it has answered another request.
    await page.post('/open', page.token);
    finish({ state: 'done', text: 'sent', result: 'landed' });
    expect(await page.ended).toBe('landed');
  });
});
