/** What every way to the service does: the engine in this process, and the client over HTTP. */
import { afterAll, beforeAll, describe } from 'vitest';
import {
  type OpenService,
  openInProcess,
  openOnCluster,
  openOverHttp,
  type ServiceUnderTest,
} from '../support/service.js';
import { access } from './service/access.js';
import { batches } from './service/batches.js';
import { burning } from './service/burning.js';
import { once } from './service/once.js';

function serviceContract(way: string, openService: OpenService): void {
  describe(`service ${way}`, () => {
    let under: ServiceUnderTest;

    // One engine for all tests, since each holds a virtual machine; tests that count register a project of their own.
    beforeAll(async () => {
      under = await openService();
    });
    afterAll(() => under.dispose());

    describe('access', () => access(() => under));
    describe('burning', () => burning(() => under));
    describe('once', () => once(() => under));
    describe('batches', () => batches(() => under));
  });
}

serviceContract('in process', openInProcess);
serviceContract('over HTTP', openOverHttp);
serviceContract('on a cluster', () => openOnCluster());
