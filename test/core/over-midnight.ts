/** Burns and batches around midnight, while store clock and block times disagree about the day. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Chain } from '../../src/chain/chain.js';
import { decodeTransaction } from '../../src/chain/transaction/wire.js';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { UsageKind } from '../../src/store/repositories/usage.js';
import { utcDay } from '../../src/values/time.js';
import type { Random } from '../fuzz/random.js';
import { HandClock } from '../support/chain.js';
import { chainOver } from '../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  signApproval,
  type TestEngine,
} from '../support/engine.js';

const DAY_MS = 86_400_000;
const MIDNIGHT_MS = Date.UTC(2026, 1, 1);
const STEPS = 24;
const KINDS: readonly UsageKind[] = ['burn', 'airdrop'];
/** Store clock minus block time in ms; `null` if no node has a block time. */
const LAGS_MS = [0, 400, 5_000, 40_000, -1_500, null];

/** A chain that draws the block time of each landing, and reports some burns as not final yet. */
const chainBy = ({ chain, project }: TestEngine, clock: HandClock, random: Random): Chain =>
  chainOver(chain, {
    trace: async (sought) => {
      const lagMs = random.pick(LAGS_MS);
      const blockTimeMs = lagMs === null ? 0 : clock.timeMs - lagMs;
      return (await chain.trace(sought)).map((trace, at) => {
        if (trace.kind !== 'landed') return trace;
        const payer = decodeTransaction(sought[at]?.bytes ?? new Uint8Array()).message.staticKeys[0];
        const isFinal = payer !== project.registration.burnWallet || random.oneIn(2);
        return { ...trace, record: { ...trace.record, blockTimeMs }, isFinal };
      });
    },
  });

/**
 * Acts at random from seconds before a midnight until two days later, and checks the daily caps after each step. @param cap -
 * daily caps of the project, in whole tokens.
 */
export async function actOverMidnight(test: TestEngine, random: Random, cap: bigint): Promise<void> {
  const { project, store } = test;
  const { tokenId } = project.registration;
  const to = project.owner.address;
  const clock = new HandClock(MIDNIGHT_MS - 2_000);
  const engine = engineBeside(test, { clock, chain: chainBy(test, clock, random) });
  const amount = (): number => 1 + random.below(Number(cap));
  const waiting: (() => Promise<unknown>)[] = [];
  const execute = async ({ value }: Awaited<ReturnType<typeof engine.initBatch>>): Promise<void> => {
    const body = { batchId: value.batch.id, signedTx: signApproval(project.owner, value) };
    await engine.executeBatch(body, project.call());
  };
  const init = async (): Promise<void> => {
    const actions = [burnAction(amount()), { action: 'AIRDROP' as const, toAddress: to, amount: amount() }];
    const begun = await engine.initBatch(
      { pipelines: actions.map((action) => aPipeline([action])) },
      project.call(),
    );
    waiting.push(() => execute(begun));
  };
  const deeds = [
    () => engine.burn(aBurnRequest(amount()), project.call()),
    () => engine.burn(aBurnRequest(amount()), project.call()),
    () =>
      engine.burnBatch(
        [aBurnRequest(amount()), aBurnRequest(amount())],
        project.call({ idempotencyKey: randomUUID() }),
      ),
    init,
    async () => waiting.shift()?.(),
    () => engine.reconcile(),
  ];
  for (let step = 0; step < STEPS; step += 1) {
    clock.timeMs += step === STEPS / 2 ? DAY_MS - 15_000 : random.pick([200, 900, 2_500]);
    await random
      .pick(deeds)()
      .catch((error: unknown) => {
        if (!isFlywheelError(error, 'ERR_DAILY_LIMIT_EXCEEDED')) throw error;
      });
    for (let day = -1; day < 4; day += 1)
      for (const kind of KINDS) {
        const at = { tokenId, kind, day: utcDay(MIDNIGHT_MS + day * DAY_MS) };
        const used = await store.read((tx) => tx.usage.used(at));
        expect([kind, at.day, used > cap * 1_000_000n ? used : 'within the cap']).toEqual([
          kind,
          at.day,
          'within the cap',
        ]);
      }
  }
  const days = [-1, 0, 1, 2, 3].map((day) => utcDay(MIDNIGHT_MS + day * DAY_MS));
  const counted = await store.read(async (tx) => {
    let sum = 0n;
    for (const day of days) sum += await tx.usage.used({ tokenId, kind: 'burn', day });
    return sum;
  });
  expect(counted).toBeGreaterThanOrEqual(BigInt((await engine.status()).burned) * 1_000_000n);
}
