/** The service itself: its operations and the administration, on a store and a chain that are handed in. */
import type { Admin } from '../contract/admin.js';
import type { DatabaseFinding, Foresight, Recovery, RecoveryScope } from '../contract/local-admin.js';
import type { OperationId } from '../contract/operations.js';
import type { ServedEngine } from '../contract/served-engine.js';
import { eachOperation, type Service } from '../contract/service.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import { checkChain } from './admin/check-chain.js';
import {
  createKey,
  keyInfo,
  listActs,
  readCaps,
  registrationView,
  requireRegistration,
  revokeKey,
  setCaps,
} from './admin/project.js';
import { fund, refuseSecond, registerProject } from './admin/register.js';
import { registrationStatus, vaultReport } from './admin/vault.js';
import { cancelBatch } from './batches/cancel-batch.js';
import { executeBatch } from './batches/execute-batch.js';
import { batchPipelines, currentBatch, getBatch, listBatches } from './batches/get-batch.js';
import { initBatch } from './batches/init-batch.js';
import { issueApproval } from './batches/owner-vote.js';
import { burn, burnBatch } from './burns/burn.js';
import { watchConfirmed } from './burns/recover.js';
import type { EngineDeps, EngineParts } from './deps.js';
import { foreseeBatch, foreseeBurns } from './dry-run.js';
import { createGapAdmin, type GapAdmin, GapWatch, requireOneWhole } from './gaps/gap-watch.js';
import { history, listBurns } from './lists.js';
import { describeKey, type EngineOperation, findCaller, requireScope } from './operation.js';
import { type Reconciled, Reconciler, type ReconcileTerms } from './reconcile.js';
import { report } from './report.js';
import { engineState, listUnfinished } from './state.js';

export interface Engine extends Service, Admin, ServedEngine {
  /** A further project in the same store, as a service for many has them. */
  registerProject: (input: Parameters<Admin['register']>[0]) => ReturnType<Admin['register']>;
  readonly foresight: Foresight;
  readonly recovery: Recovery;
  /** Looks whether the chain has taken back what had landed, of one project or of all. @returns how many transactions are pending again for that */
  watch(scope?: RecoveryScope): Promise<number>;
  /** Brings to its end what any engine left unfinished; what cannot be for now stays as it is. */
  reconcile(terms?: ReconcileTerms): Promise<Reconciled>;
  /** What the chain knows of the project that is administered and the store does not. */
  readonly gaps: GapAdmin;
  /** Holds the whole store to the chain. */
  checkChain(): Promise<readonly DatabaseFinding[]>;
  /** Is there an API key with this id, of whatever project? */
  hasKey(id: string): Promise<boolean>;
}

/** Builds the engine; nothing is opened or read before the first call. */
export function createEngine(parts: EngineParts): Engine {
  const deps: EngineDeps = { ...parts, gaps: new GapWatch(parts) };
  const reconciler = new Reconciler(deps);
  const watch = async (scope?: RecoveryScope): Promise<number> => {
    try {
      return (await watchConfirmed(deps, scope)).reopened;
    } catch (error) {
      // A chain that is out of reach has taken nothing back yet.
      if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return 0;
      throw error;
    }
  };
  return {
    ...createService(deps),
    ...createAdmin(deps),
    foresight: {
      burns: (requests, credential) => foreseeBurns(deps, requests, credential),
      batch: (request, credential) => foreseeBatch(deps, request, credential),
    },
    recovery: {
      unfinished: async (scope) => {
        await watch(scope);
        return listUnfinished(deps, scope);
      },
      finish: async (terms) => void (await reconciler.run(terms)),
    },
    watch,
    registerProject: (input) => registerProject(deps, input),
    authenticate: async (id, asked) => {
      const foundMs = deps.clock.nowMs();
      const caller = await findCaller(deps.store, id, asked);
      // What comes late is of a key that may have been revoked meanwhile.
      const current = async () =>
        deps.clock.nowMs() - foundMs < FRESH_MS ? caller : findCaller(deps.store, id, asked);
      return {
        ...{ keyId: caller.key.id, project: caller.key.tokenId },
        requireScope: () => requireScope(caller, id),
        perform: async (input, call) => OPERATIONS[id](deps, input, call, await current()),
      };
    },
    reconcile: (terms) => reconciler.run(terms),
    ready: async () => {
      await Promise.all([deps.store.progress(), deps.chain.latestBlockhash()]);
      await requireOneWhole(deps.store);
    },
    state: () => engineState(deps),
    gaps: createGapAdmin(deps),
    checkChain: () => checkChain(deps),
    hasKey: async (id) => (await deps.store.read((tx) => tx.apiKeys.find({ id }))) !== undefined,
  };
}

/** For so long who calls is known without being found out again. */
const FRESH_MS = 1_000;

/** What each operation of the contract's table does. */
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

function createService(deps: EngineDeps): Service {
  return {
    ...eachOperation((id, input, call) => OPERATIONS[id](deps, input, call)),
    close: () => deps.store.close(),
  };
}

function createAdmin(deps: EngineDeps): Admin {
  const registered = () => deps.store.read((tx) => requireRegistration(tx, deps.project ?? null));
  return {
    register: async (input) => {
      await deps.store.read(refuseSecond);
      return registerProject(deps, input, refuseSecond);
    },
    registration: async () => {
      const { token, flywheel } = await registered();
      return registrationView(token, flywheel);
    },
    status: async () => {
      const { token, flywheel } = await registered();
      return registrationStatus(deps, token, flywheel);
    },
    vault: async () => {
      const { token, flywheel } = await registered();
      return vaultReport(deps, token, flywheel);
    },
    fund: async (input) => {
      const { token, flywheel } = await registered();
      return fund(deps, token, flywheel, input);
    },
    createKey: async (terms) => createKey(deps, await registered(), terms),
    caps: () =>
      deps.store.read(async (tx) => {
        const { token, flywheel } = await requireRegistration(tx, deps.project ?? null);
        return readCaps(tx, token, flywheel);
      }),
    setCaps: (changes) => setCaps(deps, changes),
    listKeys: async (own = null) => {
      const { token } = await registered();
      const keys = await deps.store.read((tx) => tx.apiKeys.ofToken(token.id));
      return keys.map((key) => keyInfo(key, own));
    },
    revokeKey: async (id, afterMs = 0, own = null) =>
      revokeKey(deps, (await registered()).token.id, id, { afterMs, own }),
    audit: (query) => listActs(deps, query),
  };
}
