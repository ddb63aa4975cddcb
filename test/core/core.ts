/** What a service does on whatever store and chain: the core of the specification, over HTTP. */
import { afterAll, beforeAll, describe } from 'vitest';
import { isolation } from '../specification/isolation.js';
import { Api } from '../support/api.js';
import type { InProcessService } from '../support/in-process-service.js';
import { batches } from './batches.js';
import { burning } from './burning.js';
import { keys } from './keys.js';
import { once } from './once.js';

/** Runs what depends on the chain on one service; cases that count register a project of their own. */
export const coreOnChain = (on: string, open: () => Promise<InProcessService>): void =>
  run(on, open, { burning, once, batches });

/** Runs all of the core, also what depends on the store alone. */
export const core = (on: string, open: () => Promise<InProcessService>): void =>
  run(on, open, { burning, once, keys, isolation, batches });

type Cases = Readonly<Record<string, (under: () => Api) => void>>;

function run(on: string, open: () => Promise<InProcessService>, parts: Cases): void {
  describe(`service ${on}`, () => {
    let api: Api;
    beforeAll(async () => {
      api = new Api(await open());
    });
    afterAll(async () => {
      await api.close();
      await api.service.close();
    });
    for (const [what, cases] of Object.entries(parts)) describe(what, () => cases(() => api));
  });
}
