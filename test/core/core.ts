/** What a service does on whatever store and chain: the core of the specification, over HTTP. */
import { afterAll, beforeAll, describe } from 'vitest';
import { isolation } from '../specification/isolation.js';
import { Api } from '../support/api.js';
import type { InProcessService } from '../support/in-process-service.js';
import { batches } from './batches.js';
import { burning } from './burning.js';
import { keys } from './keys.js';
import { once } from './once.js';

/** Runs the core on one service; cases that count register a project of their own. */
export function core(on: string, open: () => Promise<InProcessService>): void {
  describe(`service ${on}`, () => {
    let api: Api;
    beforeAll(async () => {
      api = new Api(await open());
    });
    afterAll(async () => {
      await api.close();
      await api.service.close();
    });
    describe('burning', () => burning(() => api));
    describe('once', () => once(() => api));
    describe('keys', () => keys(() => api));
    describe('isolation', () => isolation(() => api));
    describe('batches', () => batches(() => api));
  });
}
