/** Init: validate everything, plan, reserve, set up (contract, section 1.2). */
import { tokenProgramAddress } from '../../chain/programs.js';
import type { Call, Reply } from '../../contract/call.js';
import { checkIdempotencyKey } from '../../contract/headers.js';
import { OPERATIONS } from '../../contract/operations.js';
import {
  type InitBatchRequest,
  type InitBatchResult,
  initBatchRequestSchema,
} from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, PlannedPipeline, RequestRecord } from '../../store/records.js';
import type { StoreTransaction, UsageKind } from '../../store/store.js';
import type { JsonValue } from '../../values/canonical-json.js';
import { isoTime, utcDay } from '../../values/time.js';
import { admit, type Principal, requireFlywheel, requireToken } from '../auth/authenticate.js';
import type { EngineDeps } from '../deps.js';
import { capExceeded, dailyCap } from '../limits/daily-cap.js';
import {
  abandonRequest,
  findEarlier,
  openRequest,
  type RequestIdentity,
  requestIdentity,
} from '../requests/requests.js';
import { initBatchView } from './batch-view.js';
import { checkPipelines } from './check-pipelines.js';
import { checkFunds, totalAirdrop, totalBurn } from './funds.js';
import { planBatch } from './plan-batch.js';
import type { BatchScene } from './scene.js';
import { setUp } from './set-up.js';

/** Compiles pipelines into a batch and returns the approval for the owner to sign. */
export async function initBatch(
  deps: EngineDeps,
  input: InitBatchRequest,
  call: Call,
): Promise<Reply<InitBatchResult>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.initBatch);
  const key = checkIdempotencyKey(call.idempotencyKey, OPERATIONS.initBatch.idempotencyKey);
  const request = parseInput(initBatchRequestSchema, input);
  const token = requireToken(principal);
  const flywheel = requireFlywheel(principal);
  // What passed the schema is JSON, though the loose shape of unavailable actions does not say so.
  const body = request as unknown as JsonValue;
  const identity = requestIdentity(principal.key.id, 'initBatch', key, body);
  const earlier = await deps.store.read((tx) => findEarlier(deps, tx, identity));
  if (earlier?.reply != null) {
    return { value: JSON.parse(earlier.reply) as InitBatchResult, meta: { replayed: true } };
  }
  const scene: BatchScene = { token, flywheel, operator: deps.keyring.get(flywheel.operator) };
  const opened =
    earlier === undefined
      ? await begin(deps, principal, scene, identity, request)
      : await carryOn(deps, identity, earlier);
  try {
    const batch = await setUp({ deps, scene, ...opened, signal: call.signal });
    return { value: initBatchView(batch, scene), meta: { replayed: false } };
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
  request: InitBatchRequest,
): Promise<Opened> {
  const pipelines = plan(principal, scene, request, deps);
  await checkFunds(deps.chain, scene, pipelines);
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
      batchIndex: null,
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

function plan(
  principal: Principal,
  scene: BatchScene,
  request: InitBatchRequest,
  deps: EngineDeps,
): readonly PlannedPipeline[] {
  const checked = checkPipelines(principal, scene.token, request, deps.limits);
  const { flywheel } = scene;
  const token = { ...scene.token, tokenProgram: tokenProgramAddress(scene.token.tokenProgram) };
  const planned = planBatch({ pipelines: checked, token, flywheel });
  return checked.map((pipeline, index) => {
    const compiled = planned[index];
    invariant(compiled !== undefined, 'Every pipeline is planned.');
    return {
      type: pipeline.type,
      payload: pipeline.payload,
      actions: pipeline.actions,
      proofHash: pipeline.proofHash,
      message: Buffer.from(compiled.message).toString('base64'),
      burn: compiled.burn,
      airdrop: compiled.airdrop,
    };
  });
}
