/** Nodes that go wrong by chance, from a seed: what is read is true or an error says why, in time. */
import { afterEach, describe, expect, it } from 'vitest';
import { SYSTEM_PROGRAM } from '../../../../src/chain/programs.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import { isLong } from '../../../support/long.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import {
  closeStubs,
  type Fault,
  hangUp,
  inContext,
  MAINNET,
  result,
  says,
  silence,
  stated,
  status,
  stubNode,
  wireAccount,
} from '../../../support/rpc-stub.js';

afterEach(closeStubs);

const SEEDS = isLong ? 20 : 8;
const MAX_WAIT_MS = 20_000;

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const addresses = Array.from({ length: 130 }, (_, n) => namedAddress(`account ${n}`));
const truth = addresses.map((_, n) =>
  n % 7 === 0 ? null : wireAccount(Uint8Array.of(n, n + 1), SYSTEM_PROGRAM, n),
);

const TRANSIENT: readonly Fault[] = [
  status(429),
  status(429, { 'retry-after': '3' }),
  status(503),
  stated(-32_005, 'behind', { numSlotsBehind: 3 }),
  stated(-32_016),
  stated(-32_603),
  hangUp,
  silence,
];
const FATAL: readonly Fault[] = [status(401), says('<html>'), says('{}'), result(null), says('')];

const KNOWN = ['ERR_UNAVAILABLE', 'ERR_RESPONSE_INVALID', 'ERR_CHAIN_MISMATCH'];

/** A node that answers, and now and then does not; an evil one changes a byte of what it answers as well. */
async function node(random: () => number, evil: boolean) {
  const slots = { now: 100 + Math.floor(random() * 3) };
  const honest = (asked: readonly string[], options: { minContextSlot?: number }) => {
    slots.now = Math.max(slots.now + (random() < 0.3 ? 1 : 0), options.minContextSlot ?? 0);
    return inContext(
      asked.map((one) => truth[addresses.findIndex((address) => address === one)] ?? null),
      slots.now,
    );
  };
  const stub = await stubNode({ getMultipleAccounts: honest });
  const pick = (faults: readonly Fault[]): Fault => faults[Math.floor(random() * faults.length)] as Fault;
  stub.always = (response, call) => {
    const dice = random();
    if (dice < 0.25) return pick(TRANSIENT)(response, call);
    if (dice < (evil ? 0.35 : 0.26)) return pick(FATAL)(response, call);
    const value =
      call.method === 'getGenesisHash' ? MAINNET : honest(...(call.params as Parameters<typeof honest>));
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: call.id, result: value }));
    if (evil && random() < 0.8) {
      const at = Math.floor(random() * body.length);
      body[at] = Math.floor(random() * 256);
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };
  return stub;
}

describe('accounts that are read through nodes that go wrong', () => {
  it.each([
    ['one that is honest', [false], 1, SEEDS / 2],
    ['two that are honest', [false, false], 1, SEEDS / 2],
    ['two that agree, of three of which one is evil', [true, false, false], 2, SEEDS / 4],
    ['two that have to agree, of which one is evil', [false, true], 2, 0],
  ] as const)(
    'are true, or an error says why: %s',
    async (_name, tempers, quorum, least) => {
      const ended = { true: 0, error: 0 };
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const random = randomFrom(seed);
        const nodes = await Promise.all(tempers.map((evil) => node(random, evil)));
        const urls = nodes.map(({ url }) => url);
        const chain = rpcChain(urls, { quorum, maxWaitMs: MAX_WAIT_MS, timeoutMs: 25, random });
        const startedMs = chain.nowMs();
        try {
          const states = await chain.reader.getAccounts(addresses);
          expect(states.map((state) => state && [Number(state.lamports), ...state.data])).toEqual(
            truth.map((account, n) => account && [n, n, n + 1]),
          );
          ended.true += 1;
        } catch (error) {
          if (!isFlywheelError(error)) throw error;
          expect(KNOWN).toContain(error.code);
          ended.error += 1;
        }
        // Two calls, each with its own time, and the comparisons between them.
        expect(chain.nowMs() - startedMs).toBeLessThan(12 * MAX_WAIT_MS);
        await closeStubs();
      }
      // Of two that have to agree and one that lies there is little to be had but an error.
      if (least > 0) expect(ended.true).toBeGreaterThan(least);
    },
    60_000,
  );
});
