/**
 * Two `flywheel serve` processes on one data directory for a long time: clients disconnect at every stage, read slowly or never,
 * and come in bursts under many keys; one server is killed or stopped repeatedly, the other keeps running. Afterwards no gauge is
 * above zero, the memory of the running server is flat, repeats returned the same bytes, and the ledger has exactly one burn for
 * each key.
 */
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import bs58 from 'bs58';
import { Agent, request } from 'undici';
import type { Random } from '../fuzz/random.js';
import { FILES, LedgerTables } from '../simulation/audit/tables.js';
import { besides } from '../support/flywheel-here.js';
import { initHome, type ServedHome, type ServeProcess, serve } from '../support/http-serve.js';
import type { OpenTorture, TorturePart } from './part.js';

const PATH = '/v1/tokenomics/burn';
const BATCH_PATH = '/v1/tokenomics/burn-batch';
const BURST = 60;
const LEAVERS = 20;
const SLOW_READERS = 10;
const API_KEYS = 5;
const MAX_ELEMENTS = 40;
const PATIENCE_MS = 60_000;
const PROBES_AT_ONCE = 2;
/** Rounds before the first memory reading. */
const WARM_UP_ROUNDS = 20;
const MAX_GROWTH = 1.35;
const MIB = 1_024 * 1_024;
const OPTIONS = ['burn=100000/s', 'burn-batch=100000/s', 'current=100000/s'].flatMap((rate) => [
  '--rate',
  rate,
]);

/** A burn request: its key, its client, and its answer. */
interface Asked {
  readonly key: string;
  readonly apiKey: string;
  readonly path: string;
  readonly body: string;
  readonly burns: number;
  answer?: string;
}

const LEAVING: readonly ((socket: Socket) => void)[] = [
  (socket) => void socket.destroySoon(),
  (socket) => void socket.resetAndDestroy(),
  (socket) => void socket.end(),
];

function burnsOf(random: Random, apiKey: string): Asked {
  const key = randomUUID();
  const burn = (index: number) => ({
    type: 'PRODUCT_BUY',
    proof: { key, index, note: 'x'.repeat(random.below(300)) },
    burnAmount: 0.000001,
    persistOnchain: random.oneIn(4),
  });
  if (!random.oneIn(6)) return { key, apiKey, path: PATH, body: JSON.stringify(burn(0)), burns: 1 };
  const burns = 1 + random.below(MAX_ELEMENTS);
  const body = JSON.stringify(Array.from({ length: burns }, (_, index) => burn(index)));
  return { key, apiKey, path: BATCH_PATH, body, burns };
}

const bytesOf = ({ key, apiKey, path, body }: Asked): string =>
  [
    `POST ${path} HTTP/1.1`,
    'host: a',
    `x-service-api-key: ${apiKey}`,
    `x-idempotency-key: ${key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');

const residentBytes = ({ child }: ServeProcess): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1_024;

/** Signature of each transaction, and whether it failed. */
function transactionsOf({ dataDir }: ServedHome): readonly (readonly [string, boolean])[] {
  const ledger = new LedgerTables(join(dataDir, FILES.ledger));
  const found = ledger.transactionsAfter(0);
  ledger.close();
  return found.map(({ wire, hasFailed }) => [bs58.encode(wire.subarray(1, 65)), hasFailed]);
}

class SoakTorture implements OpenTorture {
  readonly #home: ServedHome;
  readonly #apiKeys: readonly string[];
  readonly #steady: ServeProcess;
  readonly #agent = new Agent({ connections: 40 });
  readonly #asked: Asked[] = [];
  readonly #memory: number[] = [];
  readonly #endings = { kills: 0, drains: 0, inVain: 0, hungUp: 0 };
  readonly #before: number;
  #other: ServeProcess;
  #otherMemory = 0;

  constructor(home: ServedHome, apiKeys: readonly string[], servers: readonly [ServeProcess, ServeProcess]) {
    this.#home = home;
    this.#before = transactionsOf(home).length;
    this.#apiKeys = apiKeys;
    [this.#steady, this.#other] = servers;
  }

  async round(random: Random): Promise<void> {
    const asked = Array.from({ length: BURST }, () => burnsOf(random, random.pick(this.#apiKeys)));
    this.#asked.push(...asked);
    const leavers = asked.slice(0, LEAVERS).map((one) => this.#leave(random, one));
    const slow = Array.from({ length: SLOW_READERS }, () => this.#readSlowly(random));
    const others = asked
      .slice(LEAVERS)
      .map((one) => this.#try(one, random.pick([this.#steady, this.#other])));
    if (random.oneIn(3)) await this.#restart(random);
    await Promise.all([...leavers, ...slow, ...others]);
    await this.#settle(random, asked);
    if (random.oneIn(4)) await this.#settle(random, random.shuffled(this.#asked).slice(0, BURST));
    this.#memory.push(residentBytes(this.#steady));
    this.#otherMemory = Math.max(this.#otherMemory, residentBytes(this.#other));
  }

  report(): string {
    const { kills, drains, inVain, hungUp } = this.#endings;
    const { early, late } = this.#growth();
    const burns = this.#asked.reduce((sum, { burns }) => sum + burns, 0);
    return [
      `      ${this.#asked.length} keys, ${burns} burns, ${hungUp} hang-ups, ${inVain} tries in vain; ${kills} kills, ${drains} drains`,
      `      memory of the steady server ${Math.round(early / MIB)} MiB after ${WARM_UP_ROUNDS} rounds, ${Math.round(late / MIB)} MiB at the end; of the others at most ${Math.round(this.#otherMemory / MIB)} MiB`,
    ].join('\n');
  }

  async close(): Promise<void> {
    try {
      await this.#settle(undefined, this.#asked);
      await this.#isQuiet(this.#steady);
      await this.#isQuiet(this.#other);
      const { early, late } = this.#growth();
      assert(late <= early * MAX_GROWTH, `Memory has grown from ${early} to ${late} bytes.`);
    } finally {
      await this.#agent.close();
      const ends = await Promise.all([this.#steady.end('SIGTERM'), this.#other.end('SIGTERM')]);
      assert.deepEqual(
        ends.map(({ exit }) => exit),
        [0, 0],
        this.#steady.log().slice(-2_000),
      );
    }
    this.#checkLog();
    this.#checkLedger();
  }

  /** Peak memory after the warm-up and at the end; a single reading may fall just after a garbage collection. */
  #growth(): { readonly early: number; readonly late: number } {
    const from = Math.min(WARM_UP_ROUNDS, Math.floor(this.#memory.length / 3));
    const most = (part: readonly number[]): number => Math.max(0, ...part);
    return { early: most(this.#memory.slice(from, from + 10)), late: most(this.#memory.slice(-10)) };
  }

  async #leave(random: Random, asked: Asked): Promise<void> {
    const server = random.pick([this.#steady, this.#other]);
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    const whole = bytesOf(asked);
    socket.write(random.oneIn(3) ? whole.slice(0, random.below(whole.length)) : whole);
    for (let turns = random.below(60); turns > 0; turns -= 1) await new Promise((done) => setImmediate(done));
    random.pick(LEAVING)(socket);
    socket.resume();
    const patience = setTimeout(() => socket.destroy(), PATIENCE_MS);
    await closed;
    clearTimeout(patience);
    this.#endings.hungUp += 1;
  }

  /** Requests a large page several times, and delays reading, or never reads. */
  async #readSlowly(random: Random): Promise<void> {
    const server = random.pick([this.#steady, this.#other]);
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    socket.pause();
    socket.write('GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1 + random.below(20)));
    const timer = setTimeout(() => {
      if (random.oneIn(2)) socket.resume().end();
      else random.pick(LEAVING)(socket.resume());
    }, random.below(2_000));
    await closed;
    clearTimeout(timer);
  }

  async #restart(random: Random): Promise<void> {
    for (let turns = random.below(400); turns > 0; turns -= 1)
      await new Promise((done) => setImmediate(done));
    const kill = random.oneIn(2);
    const { exit } = await this.#other.end(kill ? 'SIGKILL' : 'SIGTERM');
    if (kill) this.#endings.kills += 1;
    else {
      this.#endings.drains += 1;
      assert.equal(exit, 0, this.#other.log().slice(-2_000));
    }
    this.#other = await serve(this.#home, ...OPTIONS);
  }

  /** @returns whether the request succeeded, with the same answer as before. */
  async #try(asked: Asked, server: ServeProcess): Promise<boolean> {
    const { key, apiKey, path, body } = asked;
    const headers = {
      'x-service-api-key': apiKey,
      'x-idempotency-key': key,
      'content-type': 'application/json',
    };
    try {
      const answer = await request(server.url + path, {
        method: 'POST',
        dispatcher: this.#agent,
        headers,
        body,
      });
      const text = await answer.body.text();
      if (answer.statusCode === 200) {
        assert.equal(text, asked.answer ?? text, 'A repeat has given another answer.');
        asked.answer = text;
        return true;
      }
      assert([409, 503].includes(answer.statusCode), `${answer.statusCode} ${text}`);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      // The server ended meanwhile.
    }
    this.#endings.inVain += 1;
    return false;
  }

  async #settle(random: Random | undefined, asked: readonly Asked[]): Promise<void> {
    const rest = [...asked];
    const untilMs = performance.now() + PATIENCE_MS;
    const worker = async (): Promise<void> => {
      for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
        const server = random === undefined || random.oneIn(2) ? this.#steady : this.#other;
        while (!(await this.#try(one, server)))
          assert(performance.now() < untilMs, `A key cannot be used any more: ${one.key}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  }

  async #isQuiet(server: ServeProcess): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await request(`${server.url}/metrics`, { dispatcher: this.#agent });
      const text = await answer.body.text();
      const gauge = (name: string): number =>
        Number(new RegExp(`^flywheel_http_${name} (\\d+)$`, 'm').exec(text)?.[1]);
      if (gauge('requests_running') === 0 && gauge('connections') <= 40 + PROBES_AT_ONCE) return;
      assert(performance.now() < untilMs, `Something is left behind:\n${text.slice(0, 4_000)}`);
    }
  }

  #checkLog(): void {
    const ids = this.#steady
      .log()
      .split('\n')
      .filter((line) => line.includes('"durationMs"'))
      .map((line) => (JSON.parse(line) as { requestId: string }).requestId);
    assert.equal(new Set(ids).size, ids.length, 'A request has two lines in the log.');
  }

  /** Every success is one burn on the ledger, and every burn belongs to one key. */
  #checkLedger(): void {
    const rows = transactionsOf(this.#home);
    const landed = new Set(rows.filter(([, hasFailed]) => !hasFailed).map(([signature]) => signature));
    const told = this.#asked.flatMap(({ answer = '', path, burns }) => {
      const value = JSON.parse(answer) as { txHash: string } & { success: { txHash: string }[] };
      const hashes = path === PATH ? [value.txHash] : value.success.map(({ txHash }) => txHash);
      assert.equal(hashes.length, burns, 'An element has not burned.');
      return hashes;
    });
    assert.equal(new Set(told).size, told.length, 'Two keys were told of one burn.');
    assert.deepEqual(
      told.filter((hash) => !landed.has(hash)),
      [],
      'A success is not on the ledger.',
    );
    assert.equal(rows.length, told.length + this.#before, 'The ledger holds burns that nobody was told of.');
  }
}

export const tortureSoak: TorturePart = {
  of: `${BURST} requests and ${SLOW_READERS} slow readers`,
  async open() {
    const home = await initHome('--burn-wallet-sol', '100');
    const apiKeys = [home.key];
    for (let made = 0; made < API_KEYS; made += 1) {
      const { exit, stdout, stderr } = await besides(home, 'keys', 'create', '--json');
      assert.equal(exit, 0, stderr);
      apiKeys.push((JSON.parse(stdout) as { key: string }).key);
    }
    return new SoakTorture(home, apiKeys, [await serve(home, ...OPTIONS), await serve(home, ...OPTIONS)]);
  },
};
