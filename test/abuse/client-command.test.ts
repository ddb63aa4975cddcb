/** The built program against hostile servers and proxies: exit codes, duration, memory, output. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answers, type Behaviour, silent, startHostile } from '../support/hostile.js';
import { startTlsServer, TEST_CERTIFICATE } from '../support/http-tls.js';
import { itLong, sampleOf } from '../support/long.js';
import { emptyDirectory, flywheel, problemOf, type SpawnOptions, startFlywheel } from '../support/spawn.js';

const KEY = 'secret-api-key-1234567890';
const PROOF = '{"orderId":"A-1001","total":49.9}';
const BURN = ['burn', '--type', 'PRODUCT_BUY', '--proof', PROOF, '--amount', '12.5'];
const CURRENT = ['batch', 'current'];
const BASE = 'https://api.flywheel.test';

const remote = (url: string, env: Record<string, string> = {}): SpawnOptions => ({
  home: emptyDirectory(),
  env: { FLYWHEEL_API_URL: url, FLYWHEEL_API_KEY: KEY, ...env },
});

/** Far below every timeout of these tests. */
const PROMPT_MS = 10_000;

describe('flywheel', () => {
  const WAITS: readonly [string, string | undefined, Behaviour][] = [
    ['CONNECT', BASE, silent],
    ['an answer', undefined, silent],
    ['the next try', undefined, answers('HTTP/1.1 503 No\r\nretry-after: 30\r\ncontent-length: 0\r\n\r\n')],
  ];
  it.each(sampleOf(WAITS, 2))('is interrupted at once while it waits for %s', async (_name, base, behave) => {
    const server = await startHostile(behave);
    const address = `http://127.0.0.1:${server.port}`;
    const options = base === undefined ? remote(address) : remote(base, { HTTPS_PROXY: address });
    const child = startFlywheel(options, [...BURN, '--timeout', '300']);
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString('utf8');
    });
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    await server.reached;
    const startedMs = performance.now();
    child.kill('SIGINT');
    expect(await closed).toBe(130);
    expect(performance.now() - startedMs).toBeLessThan(PROMPT_MS);
    expect(problemOf({ stderr })).toMatchObject({ error: 'ERR_INTERRUPTED' });
    expect(server.connections).toBe(1);
  });

  it('is interrupted at once while a name is looked up', async () => {
    const hook = join(emptyDirectory(), 'hook.cjs');
    // Blocks the one thread for name look-ups, as an unresponsive resolver does.
    writeFileSync(
      hook,
      `require('node:crypto').pbkdf2('a', 'b', 1e8, 64, 'sha512', () => undefined);
       const dns = require('node:dns');
       const { lookup } = dns;
       dns.lookup = (...given) => {
         lookup(...given);
         process.stderr.write('looking up\\n');
       };`,
    );
    const env = { NODE_OPTIONS: `--require ${hook}`, UV_THREADPOOL_SIZE: '1' };
    const child = startFlywheel(remote(BASE, env), BURN);
    let stderr = '';
    const asking = new Promise<void>((resolve) => {
      child.stderr?.on('data', (chunk: Buffer) => {
        stderr += chunk.toString('utf8');
        if (stderr.includes('looking up')) resolve();
      });
    });
    const closed = new Promise((resolve) => child.once('close', (_code, signal) => resolve(signal)));
    await asking;
    const startedMs = performance.now();
    child.kill('SIGINT');
    expect(await closed).toBe('SIGINT');
    expect(performance.now() - startedMs).toBeLessThan(PROMPT_MS);
    expect(problemOf({ stderr })).toMatchObject({ error: 'ERR_INTERRUPTED' });
  });

  itLong('takes the authorities of NODE_EXTRA_CA_CERTS, if they are some', async () => {
    const server = await startTlsServer();
    const file = join(emptyDirectory(), 'ca.pem');
    const options = remote(`https://127.0.0.1:${server.port}`, { NODE_EXTRA_CA_CERTS: file });
    writeFileSync(file, TEST_CERTIFICATE);
    expect(await flywheel(options, ...CURRENT)).toMatchObject({ exit: 0, stdout: 'null\n' });
    writeFileSync(file, 'no certificate');
    const broken = await flywheel(options, ...CURRENT);
    expect([broken.exit, problemOf(broken).error]).toEqual([2, 'ERR_CONFIG_INVALID']);
  });
});

describe('memory', () => {
  const MEGABYTE = 1_000_000;
  /** The program alone takes less than half of it. */
  const MOST_RSS_KIB = 300 * 1_024;

  const NOT_THERE = [
    'HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 43\r\nconnection: close\r\n\r\n',
    '{"error":"ERR_NOT_FOUND","message":"None."}',
  ].join('');

  const flood =
    (start: string, more: string, size = 12 * MEGABYTE): Behaviour =>
    (socket, asked) =>
      asked((request) => {
        // Look-ups are unavailable.
        if (/^GET \S*(?:idempotencyKey|proofHash)=/.test(request)) return void socket.end(NOT_THERE);
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n${start}`);
        void pour(socket, more.repeat(Math.ceil(MEGABYTE / more.length / 10)), size);
      });

  async function pour(socket: Socket, block: string, size: number): Promise<void> {
    for (let sent = 0; sent < size && !socket.destroyed; sent += block.length) {
      if (!socket.write(block))
        await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
    }
    socket.end();
  }

  async function peak(options: SpawnOptions, ...words: string[]) {
    const notes = emptyDirectory();
    const hook = join(notes, 'hook.cjs');
    const file = join(notes, 'rss');
    writeFileSync(
      hook,
      `const { existsSync, readFileSync, writeFileSync } = require('node:fs');
       // The most of this program; the usage of resources begins with that of the one that has started it.
       const ofSystem = '/proc/self/status';
       const most = () => existsSync(ofSystem)
         ? /^VmHWM:\\s*(\\d+)/m.exec(readFileSync(ofSystem, 'utf8'))[1]
         : process.resourceUsage().maxRSS;
       process.on('exit', () => writeFileSync(${JSON.stringify(file)}, String(most())));`,
    );
    const spawned = await flywheel(
      { ...options, env: { ...options.env, NODE_OPTIONS: `--require ${hook}` } },
      ...words,
    );
    return { ...spawned, rssKib: Number(readFileSync(file, 'utf8')) };
  }

  const FLOODS = [
    ['objects in objects', '', '{"a":'],
    ['brackets', '', '['],
    ['empty lists', '[', '[],'],
    ['one text', '"', 'a'],
    ['empty objects', '{"success":[', '{},'],
  ] as const;

  it.each(sampleOf(FLOODS, 1))('is not filled by an answer of %s', async (_name, start, more) => {
    const burns = Array.from({ length: 900 }, (_, id) => ({
      type: 'WATCH_AD',
      proof: { id, text: 'x'.repeat(900) },
      burnAmount: 1,
      persistOnchain: false,
    }));
    const server = await startHostile(flood(start, more));
    const url = `http://127.0.0.1:${server.port}`;
    // The limit of an answer grows with its request: a small request permits a small answer only.
    const [small, large] = await Promise.all([
      peak(remote(url), ...CURRENT, '--max-wait', '0'),
      peak({ ...remote(url), stdin: JSON.stringify(burns) }, 'burn-batch', '-', '--max-wait', '0'),
    ]);
    expect([small.exit, large.exit]).toEqual([1, 7]);
    expect(Math.max(small.rssKib, large.rssKib)).toBeLessThan(MOST_RSS_KIB);
  });
});
