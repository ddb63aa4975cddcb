/** Init: validate everything, plan, reserve, set up (contract, section 1.2). */
import { tokenProgramAddress } from '../../chain/programs.js';
import type { Call, Reply } from '../../contract/call.js';
import { checkIdempotencyKey } from '../../contract/headers.js';
import { OPERATIONS } from '../../contract/operations.js';
import type { InitBatchRequest, InitBatchResult } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, PlannedPipeline, RequestRecord } from '../../store/records.js';
import type { StoreTransaction, UsageKind } from '../../store/store.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { isoTime, utcDay } from '../../values/time.js';
import { admit, type Principal, requireFlywheel, requireToken } from '../auth/authenticate.js';
import type { EngineDeps } from '../deps.js';
import { capExceeded, capExceededMessage, dailyCap } from '../limits/daily-cap.js';
import { createPause } from '../pause.js';
import {
  abandonRequest,
  findReply,
  openRequest,
  type RequestIdentity,
  requestIdentity,
} from '../requests/requests.js';
import { initBatchView } from './batch-view.js';
import {
  batchRefused,
  type CheckedPipeline,
  type CheckedRequest,
  checkPipelines,
  type Problem,
  pipelineList,
} from './check-pipelines.js';
import { missingFunds, totalAirdrop, totalBurn } from './funds.js';
import { planPipeline } from './plan-batch.js';
import type { BatchScene } from './scene.js';
import { nextBatchIndex, setUp } from './set-up.js';

/** Compiles pipelines into a batch and returns the approval for the owner to sign. */
export async function initBatch(
  deps: EngineDeps,
  input: InitBatchRequest,
  call: Call,
): Promise<Reply<InitBatchResult>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.initBatch);
  const key = checkIdempotencyKey(call.idempotencyKey, OPERATIONS.initBatch.idempotencyKey);
  const list = pipelineList(input, deps.limits);
  const token = requireToken(principal);
  const flywheel = requireFlywheel(principal);
  const identity = requestIdentity(principal.key.id, 'initBatch', key, input as unknown as JsonValue);
  const earlier = await findReply<InitBatchResult>(deps, identity, call);
  if ('value' in earlier) return earlier;
  const scene: BatchScene = { token, flywheel, operator: deps.keyring.get(flywheel.operator) };
  const opened =
    earlier.request === undefined
      ? await begin(deps, principal, scene, identity, list)
      : await carryOn(deps, identity, earlier.request);
  try {
    const batch = await setUp({ deps, scene, ...opened, signal: call.signal });
    return { value: initBatchView(batch, scene), meta: { replayed: false, cost: batch.cost } };
  } catch (error) {
    await abandonRequest(deps, opened.request).catch(() => {
      // The store is out of reach; the lease runs out by itself.
    });
    throw error;
  }
}

interface Opened {
  readonly request: RequestRecord;
  readonly batch: BatchRecord;
}

async function begin(
  deps: EngineDeps,
  principal: Principal,
  scene: BatchScene,
  identity: RequestIdentity,
  list: readonly unknown[],
): Promise<Opened> {
  const pipelines = await plan(deps, principal, scene, list);
  const batchIndex = await nextBatchIndex(deps.chain, scene.flywheel);
  return deps.store.transaction(async (tx) => {
    const opening = await openRequest(deps, tx, identity);
    if (opening.kind !== 'fresh') throw justRun();
    const nowMs = deps.clock.nowMs();
    const batch: BatchRecord = {
      id: deps.ids.uuid(),
      flywheelId: scene.flywheel.id,
      tokenId: scene.token.id,
      keyId: principal.key.id,
      requestId: opening.request.id,
      status: 'AVAILABLE_TO_QUEUE',
      batchIndex,
      pipelines,
      day: utcDay(nowMs),
      initResult: null,
      executeResult: null,
      approvalTx: null,
      approvalLastValidBlockHeight: null,
      instance: null,
      leaseUntilMs: 0,
      cost: { feeLamports: 0n, rentPaidLamports: 0n, rentReclaimedLamports: 0n },
      dateCreated: isoTime(nowMs),
      dateUpdated: isoTime(nowMs),
    };
    await reserve(tx, scene, batch, 'burn', totalBurn(pipelines));
    await reserve(tx, scene, batch, 'airdrop', totalAirdrop(pipelines));
    await tx.batches.insert(batch);
    await tx.requests.linkBatch(opening.request.id, batch.id);
    return { request: opening.request, batch };
  });
}

async function reserve(
  tx: StoreTransaction,
  { token, flywheel }: BatchScene,
  { day }: BatchRecord,
  kind: UsageKind,
  amount: bigint,
): Promise<void> {
  if (amount === 0n) return;
  const cap = dailyCap(flywheel, kind);
  if (await tx.usage.reserve({ tokenId: token.id, day, kind, amount, cap })) return;
  invariant(cap !== null, 'Without a cap nothing is refused.');
  const used = await tx.usage.used(token.id, day, kind);
  throw capExceeded(token, { kind, cap, used, asked: amount, day });
}

async function carryOn(deps: EngineDeps, identity: RequestIdentity, earlier: RequestRecord): Promise<Opened> {
  return deps.store.transaction(async (tx) => {
    const opening = await openRequest(deps, tx, identity);
    if (opening.kind !== 'resumed') throw justRun();
    const batch = earlier.batchId === null ? undefined : await tx.batches.get(earlier.batchId);
    invariant(batch !== undefined, 'An init request is stored together with its batch.');
    return { request: opening.request, batch };
  });
}

const justRun = (): FlywheelError =>
  new FlywheelError(
    'ERR_DUPLICATE_IDEMPOTENCY_KEY',
    'A request with the same idempotency key has just run.',
    {
      retryAfterSeconds: 1,
    },
  );

/**
 * Checks and lays out everything that was asked for.
 * @throws every problem of every kind at once, with the code that all share, or `ERR_INVALID_REQUEST` when they differ.
 */
async function plan(
  deps: EngineDeps,
  principal: Principal,
  scene: BatchScene,
  list: readonly unknown[],
): Promise<readonly PlannedPipeline[]> {
  const { pipelines, problems, asked } = await checkPipelines(principal, scene.token, list, deps.limits);
  const { planned, tooLarge } = await layOut(scene, pipelines);
  const needed = { tokens: asked.burn + asked.airdrop, pipelines: planned };
  const all = [
    ...problems,
    ...tooLarge,
    ...(await exceededCaps(deps, scene, asked)),
    ...(await missingFunds(deps.chain, scene, needed)).map(
      (text): Problem => ({ code: 'ERR_INSUFFICIENT_FUNDS', text }),
    ),
  ];
  if (all.length > 0) throw batchRefused(all);
  return planned;
}

async function layOut(
  { token, flywheel }: BatchScene,
  pipelines: ReadonlyMap<number, CheckedPipeline>,
): Promise<{ readonly planned: readonly PlannedPipeline[]; readonly tooLarge: readonly Problem[] }> {
  const pause = createPause();
  const input = { token: { ...token, tokenProgram: tokenProgramAddress(token.tokenProgram) }, flywheel };
  const planned: PlannedPipeline[] = [];
  const tooLarge: Problem[] = [];
  for (const [index, pipeline] of pipelines) {
    const compiled = planPipeline(pipeline, input);
    if (typeof compiled === 'string') {
      tooLarge.push({ code: 'ERR_PIPELINE_TOO_LARGE', text: `pipelines[${index}]: ${compiled}` });
    } else {
      const { type, payload, actions, proofHash } = pipeline;
      const message = Buffer.from(compiled.message).toString('base64');
      const { burn, airdrop } = compiled;
      planned.push({ type, payload, actions, proofHash, message, burn, airdrop });
    }
    await pause();
  }
  return { planned, tooLarge };
}

/** Caps that would be passed now; the reservation itself is made, and held against them again, under the store's lock. */
async function exceededCaps(
  { store, clock }: EngineDeps,
  { token, flywheel }: BatchScene,
  asked: CheckedRequest['asked'],
): Promise<readonly Problem[]> {
  const day = utcDay(clock.nowMs());
  const kinds: readonly UsageKind[] = ['burn', 'airdrop'];
  return store.read(async (tx) => {
    const problems: Problem[] = [];
    for (const kind of kinds) {
      const cap = dailyCap(flywheel, kind);
      const used = await tx.usage.used(token.id, day, kind);
      if (cap === null || asked[kind] === 0n || used + asked[kind] <= cap) continue;
      const text = capExceededMessage(token, { kind, cap, used, asked: asked[kind], day }).replace(/\.$/, '');
      problems.push({ code: 'ERR_DAILY_LIMIT_EXCEEDED', text });
    }
    return problems;
  });
}
