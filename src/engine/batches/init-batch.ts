/** Init: validates, plans, reserves caps and rent, then sets the batch up (contract, section 1.2). */
import { actionContent, actionRecipients } from '../../actions/registry.js';
import type { InitBatchResult } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, PlannedPipeline, RequestRecord, StoredAction } from '../../store/records.js';
import { whole } from '../../store/schema.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { createPause } from '../../values/event-loop.js';
import { isoTime } from '../../values/time.js';
import type { Refusal } from '../burns/elements.js';
import { amountsOf, dayOfNow, exceededCaps, requireCaps } from '../caps.js';
import type { EngineDeps } from '../deps.js';
import { type Caller, isWorkedOn, newLease } from '../lease.js';
import {
  claimRequest,
  isOfContent,
  justRun,
  openRequest,
  operation,
  type Principal,
  type RequestIdentity,
  refusedByContent,
  takenOver,
} from '../operation.js';
import { workOnBatch } from './advance.js';
import {
  type BatchContext,
  claimBatch,
  contextOf,
  contextOfBatch,
  currentRecord,
  flywheelOf,
  isFinal,
  withCost,
} from './batch-context.js';
import { batchRefused, type CheckedPipeline, checkPipelines, pipelineList } from './check-pipelines.js';
import {
  missingFunds,
  type PlannedBatch,
  readFunds,
  requireRoomForRent,
  setupRentLamports,
  vaultRentLamports,
} from './funds.js';
import { nextBatchIndex } from './on-chain.js';
import { planPipeline } from './plan-batch.js';
import { setUp } from './set-up.js';

export const initBatch = operation('initBatch', {
  parse: (input, { deps }) => ({ list: pipelineList(input, deps.limits) }),
  proofTypes: ({ list }) =>
    list.flatMap((pipeline) =>
      isJsonObject(pipeline) && typeof pipeline['type'] === 'string' ? [pipeline['type']] : [],
    ),
  replay: (stored, { deps }) =>
    deps.store.read((tx) =>
      withCost(tx, (stored as InitBatchResult).batch.id, stored as InitBatchResult, true),
    ),
  perform: async ({ deps, principal, input: { list }, call, identity, earlier }) => {
    const context = contextOf(deps, principal);
    const opened =
      earlier === undefined
        ? await begin(deps, principal, context, identity, list)
        : await carryOn(deps, identity, earlier);
    const value = await bringUp(deps, context, opened, call);
    return deps.store.read((tx) => withCost(tx, value.batch.id, value));
  },
});

const bringUp = (deps: EngineDeps, context: BatchContext, opened: Opened, caller: Caller) =>
  workOnBatch(deps, context, opened, caller, (work) => setUp(work, opened.request), takenOver);

/** @returns 1 when the batch was set up, 0 when it is another engine's by now. */
export async function carryOnSetUp(deps: EngineDeps, batchId: string, caller: Caller): Promise<number> {
  const { tokenId } = await deps.store.read((tx) => currentRecord(tx, batchId));
  await deps.gaps.require(tokenId);
  const taken = await deps.store.transaction(
    async (tx) => {
      const { status, requestId, ...held } = await currentRecord(tx, batchId);
      const request = await tx.requests.find({ id: requestId });
      if (status !== 'AVAILABLE_TO_QUEUE' || request?.status !== 'running' || isWorkedOn(tx, held))
        return undefined;
      const batch = await claimBatch(deps, tx, batchId);
      const opened = { batch, request: await claimRequest(deps, tx, request) };
      return { context: await contextOfBatch(deps, tx, batch), opened };
    },
    { tokenId },
  );
  if (taken === undefined) return 0;
  await bringUp(deps, taken.context, taken.opened, caller);
  return 1;
}

type Opened = { readonly request: RequestRecord; readonly batch: BatchRecord };

async function begin(
  deps: EngineDeps,
  principal: Principal,
  context: BatchContext,
  identity: RequestIdentity,
  list: readonly unknown[],
): Promise<Opened> {
  const planned = await checkAndPlan(deps, principal, context, list, identity.value);
  const { pipelines, rentLamports } = planned;
  const actions = pipelines.map((pipeline) => storedActions(pipeline, context.project.decimals));
  const batchIndex = await nextBatchIndex(deps.chain, context.project);
  return deps.store.transaction(async (tx) => {
    const request = await openRequest(deps, tx, identity, undefined);
    const day = await dayOfNow(tx, context.project.id);
    const asked = amountsOf(pipelines);
    await requireCaps(tx, { ...context, day, asked });
    await requireRoomForRent(deps, tx, context, rentLamports);
    const unpaid = await tx.batches.rentLamports(context.project.id, planned.held.asOf);
    const missing = unpaid === 0n ? [] : missingFunds(deps.chain, context, planned, unpaid);
    if (missing.length > 0) throw batchRefused(missing);
    const batch = whole('batches', {
      ...{ id: deps.ids.uuid(), tokenId: context.project.id },
      ...{ keyId: principal.key.id, requestId: request.id },
      ...{ status: 'AVAILABLE_TO_QUEUE' as const, batchIndex, pipelines },
      ...{ pipelineCount: pipelines.length, ...asked },
      // A waiting batch counts on the day of its init.
      ...{ burnLeft: asked.burn, airdropLeft: asked.airdrop, heldFrom: day, heldTo: day },
      recipients: new Set(actions.flat().flatMap(({ recipient }) => recipient ?? [])).size,
      ...{ setupRentLamports: rentLamports, ...newLease(deps, tx) },
      ...{ dateCreated: isoTime(tx.nowMs), dateUpdated: isoTime(tx.nowMs) },
    });
    await tx.batches.insert(request, batch, actions);
    return { request, batch };
  }, identity);
}

async function carryOn(deps: EngineDeps, identity: RequestIdentity, earlier: RequestRecord): Promise<Opened> {
  return deps.store.transaction(async (tx) => {
    const request = await openRequest(deps, tx, identity, earlier);
    const head = await tx.batches.find({ requestId: request.id });
    invariant(head !== undefined, 'An init request is stored together with its batch.');
    const batch = await currentRecord(tx, head.id);
    if (isFinal(batch))
      throw new FlywheelError(
        'ERR_INVALID_REQUEST',
        `Batch ${batch.id} of this request was cancelled; ${batch.executeResult?.totalSuccessful ?? 0} of its pipelines were executed. Use a new idempotency key.`,
      );
    if (isWorkedOn(tx, batch)) throw justRun();
    return { request, batch: await claimBatch(deps, tx, batch.id) };
  }, identity);
}

/** @throws all problems in one error, with their common code, or `ERR_INVALID_REQUEST` when codes differ. */
export async function checkAndPlan(
  deps: EngineDeps,
  principal: Principal,
  context: BatchContext,
  list: readonly unknown[],
  key?: string,
): Promise<PlannedBatch> {
  const { pipelines, problems, asked } = await checkPipelines(principal, list, deps.limits);
  const { planned, accountBytes, tooLarge } = await layOut(context, pipelines);
  const batch = {
    pipelines: planned,
    rentLamports: setupRentLamports(await deps.chain.rent(), accountBytes),
    vaultRentLamports: await vaultRentLamports(deps.chain, context, planned),
    tokens: asked.burn + asked.airdrop,
    held: await readFunds(deps, context),
  };
  // Checked early for the error message; the write transaction checks again under the store's lock.
  const caps = await deps.store.read(async (tx) =>
    exceededCaps(tx, { ...context, day: await dayOfNow(tx, context.project.id), asked }),
  );
  const ofContent = [...problems, ...tooLarge];
  const all = [
    ...ofContent,
    ...caps.map((text) => ({ code: 'ERR_DAILY_LIMIT_EXCEEDED', message: text.replace(/\.$/, '') }) as const),
    ...missingFunds(deps.chain, context, batch),
  ];
  const refused = batchRefused(all);
  if (ofContent.some(isOfContent)) throw refusedByContent(key, refused);
  if (all.length > 0) throw refused;
  return batch;
}

async function layOut({ project }: BatchContext, pipelines: ReadonlyMap<number, CheckedPipeline>) {
  const pause = createPause();
  const onChain = flywheelOf(project);
  const sizes = new Map<number, number>();
  const planned: PlannedPipeline[] = [];
  const accountBytes: number[] = [];
  const tooLarge: Refusal[] = [];
  for (const [index, pipeline] of pipelines) {
    const compiled = planPipeline(pipeline, onChain, sizes);
    if (typeof compiled === 'string') {
      tooLarge.push({ code: 'ERR_PIPELINE_TOO_LARGE', message: `pipelines[${index}]: ${compiled}` });
    } else {
      const { type, payload, actions, proofHash } = pipeline;
      const message = Buffer.from(compiled.message).toString('base64');
      const { burn, airdrop } = compiled;
      planned.push({ type, payload, actions, proofHash, message, burn, airdrop });
      accountBytes.push(compiled.accountBytes);
    }
    await pause();
  }
  return { planned, accountBytes, tooLarge };
}

const storedActions = ({ actions }: PlannedPipeline, decimals: number): readonly StoredAction[] =>
  actions.map((source) => {
    const action = actionContent(source, decimals);
    const amount = 'amount' in action ? action.amount : null;
    return { kind: action.action, amount, recipient: actionRecipients(action)[0] ?? null };
  });
