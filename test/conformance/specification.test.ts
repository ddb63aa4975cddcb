/**
 * The service specification, sentence by sentence, by each way to the service; what it leaves open, as the contract fills
 * it. Each case is named by the section and a quote.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { type OpenedWay, WAYS, type Way } from '../support/ways.js';
import { access } from './specification/access.js';
import { amounts } from './specification/amounts.js';
import { batchFields, batchResults } from './specification/batch-fields.js';
import { burnFunds } from './specification/burn-funds.js';
import { burnRecords } from './specification/burn-records.js';
import { burnRequests } from './specification/burn-request.js';
import { burnBatches, burnResults } from './specification/burn-result.js';
import { burnValues } from './specification/burn-values.js';
import { errors } from './specification/errors.js';
import { exactBodies, exactPayloads } from './specification/exact-numbers.js';
import { execute } from './specification/execute.js';
import { faults } from './specification/faults.js';
import { flywheel } from './specification/flywheel.js';
import { bodies, pathsAndMethods } from './specification/http.js';
import { headers } from './specification/http-headers.js';
import { init } from './specification/init.js';
import { initProblems } from './specification/init-problems.js';
import { lifecycle } from './specification/lifecycle.js';
import { rateLimits, unlimited } from './specification/limits.js';
import { once } from './specification/once.js';
import { openApi } from './specification/openapi.js';

for (const { name, open } of WAYS) {
  describe(`the specification, ${name}`, () => {
    let opened: OpenedWay;
    const under = (): Way => opened.way;

    // One engine for all cases, since each holds a virtual machine; cases that count register a project of their own.
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.dispose());

    describe('burn requests', () => burnRequests(under));
    describe('burn results', () => burnResults(under));
    describe('batches of burns', () => burnBatches(under));
    describe('batches', () => batchFields(under));
    describe('results of batches', () => batchResults(under));
    describe('states', () => lifecycle(under));
    describe('errors', () => errors(under));
    describe('burns without funds', () => burnFunds(under));
    describe('burns without a record', () => burnRecords(under));
    describe('values of burns', () => burnValues(under));
    describe('numbers in payloads', () => exactPayloads(under));
    describe('faults', () => faults(under));
    describe('the flywheel', () => flywheel(under));
    describe('access', () => access(under));
    describe('init', () => init(under));
    describe('problems of init', () => initProblems(under));
    describe('execute', () => execute(under));
    describe('amounts and proofs', () => amounts(under));
    describe('at most once', () => once(under));
    describe('rate limits', () => (name === 'over HTTP' ? rateLimits : unlimited)(under));
    if (name === 'over HTTP') {
      describe('paths and methods', () => pathsAndMethods(under));
      describe('bodies', () => bodies(under));
      describe('headers', () => headers(under));
      describe('numbers in bodies', () => exactBodies(under));
      describe('OpenAPI', () => openApi(under));
    }
  });
}
