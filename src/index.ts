/** The library: the service that the command line uses, embedded or remote. Every exported name is listed here. */
export type { Chain, ChainReader } from './chain/chain.js';
export { createKeypairSigner, type KeypairSigner, type Signer } from './chain/transaction/sign.js';
export type { RemoteServiceDeps } from './client/remote-service.js';
export { createRemoteService } from './client/remote-service.js';
export { type LocalConfig, readLocalConfig } from './compose/local-config.js';
export { type LedgerEngine, openLedgerEngine as openEngine } from './compose/open-engine.js';
export { SQUADS_PROGRAM_SHA256 } from './compose/squads-program.js';
export type {
  ApiKeyCreated,
  AuditQuery,
  CapChanges,
  FundInput,
  KeyTerms,
  RegisterInput,
} from './contract/admin.js';
export type { BatchCost, Call, ElementOutcome, Reply, ReplyMeta } from './contract/call.js';
export type * from './contract/schemas/batch.js';
export type * from './contract/schemas/burn.js';
export type { AnswerOf, InputOf, Service } from './contract/service.js';
export type { Registration } from './engine/admin/project.js';
export type { EngineDeps, EngineLimits } from './engine/deps.js';
export { createEngine, type Engine } from './engine/engine.js';
export { ERRORS, type ErrorCode } from './errors/codes.js';
export { EXIT, type ExitCode } from './errors/exit-codes.js';
export { FlywheelError, isFlywheelError } from './errors/flywheel-error.js';
export type { Store } from './store/store.js';
export { proofHash, type Sha256 } from './values/digest.js';
export { randomIds } from './values/ids.js';
export { Secret } from './values/secret.js';
export { type Clock, systemClock } from './values/time.js';
export { formatTokenAmount, parseTokenAmount } from './values/token-amount.js';
