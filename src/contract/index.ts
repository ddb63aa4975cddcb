/** The contract as a library: operations, shapes, limits, headers and the service interface. */
export type { SourceAction as SupportedAction } from '../actions/registry.js';
export type { Scope } from '../values/key-terms.js';
export { scopeSchema } from '../values/schemas.js';
export type { BatchCost, Call, ElementOutcome, Reply, ReplyMeta } from './call.js';
export * from './headers.js';
export * from './limits.js';
export {
  BODY_ERRORS,
  COMMON_ERRORS,
  OPERATIONS,
  type Operation,
  type OperationId,
  type Rate,
  type RateLimit,
} from './operations.js';
export * from './schemas/batch.js';
export * from './schemas/burn.js';
export { problemSchema } from './schemas/report.js';
export type { Service } from './service.js';
export { checkInput, listProblems, parseInput, pathText } from './validate.js';
