/** The engine: operations and administration on a given store and chain. */
import type {
  AuditQuery,
  CapChanges,
  FundInput,
  KeyTerms,
  RecoveryScope,
  RegisterInput,
} from '../contract/admin.js';
import type { OperationId } from '../contract/operations.js';
import type { InitBatchRequest } from '../contract/schemas/batch.js';
import type { BurnRequest } from '../contract/schemas/burn.js';
import type { ServedEngine } from '../contract/served-engine.js';
import { eachOperation, type Service } from '../contract/service.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';
import { checkChain } from './admin/check-chain.js';
import * as project from './admin/project.js';
import { fund, registerProject } from './admin/register.js';
import { registrationStatus, vaultReport } from './admin/vault.js';
import { cancelBatch } from './batches/cancel-batch.js';
import { executeBatch } from './batches/execute-batch.js';
import { feesAfterSetUp } from './batches/funds.js';
import { batchPipelines, currentBatch, getBatch, listBatches } from './batches/get-batch.js';
import { initBatch } from './batches/init-batch.js';
import { issueApproval } from './batches/owner-vote.js';
import { burn, burnBatch } from './burns/burn.js';
import { watchConfirmed } from './burns/recover.js';
import type { EngineDeps, EngineParts } from './deps.js';
import { foreseeBatch, foreseeBurns } from './dry-run.js';
import { createGapAdmin, GapWatch, requireOneWhole } from './gap-watch.js';
import { history, listBurns } from './lists.js';
import { describeKey, type EngineOperation, findCaller, requireScope } from './operation.js';
import { Reconciler, type ReconcileTerms } from './reconcile.js';
import { report } from './report.js';
import { engineState, listUnfinished } from './state.js';

export interface Engine extends Service, ServedEngine, ReturnType<typeof createLocal> {}

export function createEngine(parts: EngineParts): Engine {
  const deps: EngineDeps = { ...parts, gaps: new GapWatch(parts) };
  return {
    ...eachOperation((id, input, call) => OPERATIONS[id](deps, input, call)),
    close: () => deps.store.close(),
    ...createLocal(deps),
    authenticate: async (id, asked) => {
      const foundMs = deps.clock.nowMs();
      const caller = await findCaller(deps.store, id, asked);
      // The key may have been revoked while a slow request arrived.
      const current = async () =>
        deps.clock.nowMs() - foundMs < FRESH_MS ? caller : findCaller(deps.store, id, asked);
      return {
        ...{ keyId: caller.key.id, project: caller.key.tokenId },
        requireScope: () => requireScope(caller, id),
        perform: async (input, call) => OPERATIONS[id](deps, input, call, await current()),
      };
    },
    ready: async () => {
      await Promise.all([deps.store.progress(), deps.chain.latestBlockhash()]);
      await requireOneWhole(deps.store);
    },
    state: () => engineState(deps),
  };
}

const FRESH_MS = 1_000;

const OPERATIONS: { readonly [Id in OperationId]: EngineOperation<Id> } = {
  burn,
  burnBatch,
  listBurns,
  history,
  report,
  describeKey,
  getBatch,
  currentBatch,
  initBatch,
  executeBatch,
  listBatches,
  batchPipelines,
  issueApproval,
  cancelBatch,
};

/** Operations of the local machine only; `ERR_LOCAL_NOT_FOUND` before registration. */
function createLocal(deps: EngineDeps) {
  const reconciler = new Reconciler(deps);
  /** Checks for landed transactions that a fork removed. @returns how many are pending again */
  const watch = async (scope?: RecoveryScope): Promise<number> => {
    try {
      return (await watchConfirmed(deps, scope)).reopened;
    } catch (error) {
      // An unreachable chain has removed nothing yet; a later check finds it.
      if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return 0;
      throw error;
    }
  };
  const registered = () => deps.store.read((tx) => project.requireRegistration(tx, deps.project ?? null));
  return {
    register: (input: RegisterInput) => registerProject(deps, input),
    status: async () => registrationStatus(deps, await registered()),
    vault: async () => vaultReport(deps, await registered()),
    fund: async (input: FundInput) => fund(deps, await registered(), input),
    createKey: async (terms: KeyTerms) => project.createKey(deps, await registered(), terms),
    caps: () =>
      deps.store.read(async (tx) =>
        project.readCaps(tx, await project.requireRegistration(tx, deps.project ?? null)),
      ),
    setCaps: (changes: CapChanges) => project.setCaps(deps, changes),
    listKeys: async (own: Secret | null = null) => {
      const { id } = await registered();
      const keys = await deps.store.read((tx) => tx.apiKeys.ofToken(id));
      return keys.map((key) => project.keyInfo(key, own));
    },
    /** Revoking twice is no error. @throws `ERR_NOT_FOUND` */
    revokeKey: async (id: string, afterMs = 0, own: Secret | null = null) =>
      project.revokeKey(deps, (await registered()).id, id, { afterMs, own }),
    audit: (query: AuditQuery) => project.listActs(deps, query),
    foresight: {
      burns: (requests: readonly BurnRequest[], credential: Secret | null) =>
        foreseeBurns(deps, requests, credential),
      batch: (request: InitBatchRequest, credential: Secret | null) =>
        foreseeBatch(deps, request, credential),
      /** Upper bound in lamports for approving, executing and closing. @param left - pipelines to execute */
      feesAfterSetUp: (pipelines: number, left: number) => feesAfterSetUp(deps.chain, pipelines, left),
    },
    unfinished: async (scope?: RecoveryScope) => {
      await watch(scope);
      return listUnfinished(deps, scope);
    },
    watch,
    reconcile: (terms?: ReconcileTerms) => reconciler.run(terms),
    gaps: createGapAdmin(deps),
    checkChain: () => checkChain(deps),
    hasKey: async (id: string) => (await deps.store.read((tx) => tx.apiKeys.find({ id }))) !== undefined,
  };
}
