/**
 * The service specification, sentence by sentence, over HTTP; the contract fills its gaps. Each case names a section and a quote.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { access } from './access.js';
import { amounts } from './amounts.js';
import { Api } from './api.js';
import { batchFields } from './batch-fields.js';
import { burnFunds } from './burn-funds.js';
import { burnRecords } from './burn-records.js';
import { burnRequests } from './burn-request.js';
import { burnBatches, burnResults } from './burn-result.js';
import { burnValues } from './burn-values.js';
import { it, runOn } from './cases.js';
import { costs } from './costs.js';
import { errors } from './errors.js';
import { exactBodies, exactPayloads } from './exact-numbers.js';
import { execute, executeOverDays, ownApprovals } from './execute.js';
import { faults } from './faults.js';
import { flywheel } from './flywheel.js';
import { further } from './further.js';
import { bodies, pathsAndMethods } from './http.js';
import { headers } from './http-headers.js';
import type { InProcessService } from './in-process-service.js';
import { init } from './init.js';
import { initProblems } from './init-problems.js';
import { isolation } from './isolation.js';
import { lifecycle } from './lifecycle.js';
import { rateLimits } from './limits.js';
import { once, onceOverTime } from './once.js';
import { expectDescribed, openApi } from './openapi.js';

type Cases = () => void;

export const BURNS: Readonly<Record<string, Cases>> = {
  'burn requests': burnRequests,
  'burn results': burnResults,
  'batches of burns': burnBatches,
  'burns without funds': burnFunds,
  'burns without a record': burnRecords,
  'values of burns': burnValues,
  'amounts and proofs': amounts,
  'numbers in bodies': exactBodies,
};

export const BATCHES: Readonly<Record<string, Cases>> = {
  batches: batchFields,
  states: lifecycle,
  init,
  'problems of init': initProblems,
  execute,
  'execute over days': executeOverDays,
  "approvals of the owner's own": ownApprovals,
  'numbers in payloads': exactPayloads,
  'the flywheel': flywheel,
  'further operations': further,
  costs,
};

export const REQUESTS: Readonly<Record<string, Cases>> = {
  access,
  isolation,
  'at most once': once,
  'at most once over time': onceOverTime,
  errors,
  faults,
};

/** Cases that depend on the chain. */
export const ON_CHAIN: Readonly<Record<string, Cases>> = {
  'burn requests': burnRequests,
  execute,
};

/** Cases that depend on the store too. */
export const ON_STORE: Readonly<Record<string, Cases>> = {
  ...ON_CHAIN,
  'at most once': once,
  access,
  isolation,
};

/** Cases that never reach the chain. */
export const SERVER: Readonly<Record<string, Cases>> = {
  'rate limits': rateLimits,
  'paths and methods': pathsAndMethods,
  bodies,
  headers,
  OpenAPI: openApi,
};

/** Runs cases on one service, because each service has its own virtual machine; cases that count register their own project. */
export function specification(
  suites: Readonly<Record<string, Cases>>,
  open: () => Promise<InProcessService>,
): void {
  let api: Api;
  beforeAll(async () => {
    api = new Api(await open());
    runOn(api);
  });
  afterAll(async () => {
    await api.close();
    await api.service.close();
  });
  for (const [what, cases] of Object.entries(suites)) describe(what, cases);
  // Last, when nearly every answer has been recorded.
  it('answers all of it as its OpenAPI document says', expectDescribed);
}
