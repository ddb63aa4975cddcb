/** Access to the loopback page: served once, to a browser that has its address, and refused to others. */
import { request } from 'undici';
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

/** A request with arbitrary headers, which a browser does not let a page send. */
async function ask(url: URL, path: string, init: Parameters<typeof request>[1]) {
  const { statusCode, headers, body } = await request(new URL(path, url), init);
  return { status: statusCode, headers, body: await body.text() };
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
    ask(url, path, {
      ...{ method: 'POST', headers: { ...own, 'x-flywheel-token': token }, body: JSON.stringify(body) },
    });
  const get = () => ask(url, '/', { headers: { host: url.host } });
  return { url, own, token: url.hash.slice(1), ended, post, get, interrupt: () => controller.abort() };
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
    const { url, get } = await serving();
    const { status, headers, body } = await get();
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
    expect((await get()).body).not.toContain(nonce);
  });

  it('gives its content for the token, as often as it is opened, and hands out and takes a transaction', async () => {
    const taken: Uint8Array[] = [];
    const page = await serving(async (wire) => {
      taken.push(wire);
      return taken.length === 1
        ? { state: 'again', text: 'expired' }
        : { state: 'done', text: 'sent', result: 'landed' };
    });
    const { token } = page;
    for (const _ of [1, 2]) expect(JSON.parse((await page.post('/open', token)).body)).toEqual(FACTS);
    const { transaction } = JSON.parse((await page.post('/transaction', token)).body);
    expect([...Buffer.from(transaction, 'base64')]).toEqual([...UNSIGNED]);
    for (const [state, text] of [
      ['again', 'expired'],
      ['done', 'sent'],
    ])
      expect(JSON.parse((await page.post('/signed', token, SIGNED)).body)).toEqual({ state, text });
    expect([await page.ended, ...taken.map((wire) => [...wire])]).toEqual(['landed', [9, 9], [9, 9]]);
    await expect(page.post('/signed', token, SIGNED)).rejects.toThrow('ECONNREFUSED');
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
    const answer = await ask(url, '/open', {
      ...{ method: 'POST', body: '{}', headers: { ...own, 'x-flywheel-token': token, ...headers } },
    });
    expect([answer.status, answer.body]).toEqual([404, expect.not.stringContaining('FLY')]);
    expect((await post('/open', token)).status).toBe(200);
  });

  it.each(
    ['GET /open', 'GET /favicon.ico', 'OPTIONS /open', 'PUT /', 'POST /', 'POST /other'].map((line) =>
      line.split(' '),
    ) as ['GET', string][],
  )('has nothing at %s %s', async (method, path) => {
    const { url, own, token } = await serving();
    const answer = await ask(url, path, { method, headers: { ...own, 'x-flywheel-token': token } });
    expect(answer.status).toBe(404);
    expect(answer.headers).not.toHaveProperty('access-control-allow-methods');
  });

  it.each([
    ['too much', 'x'.repeat(5_000)],
    ['no JSON', '{'],
    ['no transaction', '{"transaction":7}'],
  ])('does not take %s', async (_name, body) => {
    const page = await serving(() => Promise.reject(new TypeError('taken')));
    const headers = { ...page.own, 'x-flywheel-token': page.token };
    const answer = ask(page.url, '/signed', { method: 'POST', headers, body });
    expect((await answer.catch(() => ({ status: 404 }))).status).toBe(404);
    expect((await page.post('/transaction', page.token)).status).toBe(200);
  });

  it('takes one transaction at a time, and goes on with that when it is interrupted', async () => {
    const { page, isTaken, finish } = await holding();
    const first = page.post('/signed', page.token, SIGNED);
    await isTaken;
    for (const path of ['/signed', '/decline'])
      expect((await page.post(path, page.token, SIGNED)).status).toBe(404);
    page.interrupt();
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

  it('ends with what was taken although the browser is gone by then', async () => {
    const { page, isTaken, finish } = await holding();
    const gone = new AbortController();
    const headers = { ...page.own, 'x-flywheel-token': page.token };
    const body = JSON.stringify(SIGNED);
    const sent = ask(page.url, '/signed', { method: 'POST', headers, body, signal: gone.signal });
    await isTaken;
    gone.abort();
    await expect(sent).rejects.toThrow();
    // The server has seen it too once it has answered another request.
    await page.post('/open', page.token);
    finish({ state: 'done', text: 'sent', result: 'landed' });
    expect(await page.ended).toBe('landed');
  });
});
