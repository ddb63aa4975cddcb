/** What every way to the service does. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { OpenService, ServiceUnderTest } from '../../support/service.js';
import { access } from './access.js';
import { batches } from './batches.js';
import { burning } from './burning.js';
import { isolation } from './isolation.js';
import { once } from './once.js';
import { rotation } from './rotation.js';

export function serviceContract(way: string, openService: OpenService): void {
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
    describe('isolation', () => isolation(() => under));
    describe('rotation', () => rotation(() => under));
    describe('batches', () => batches(() => under));
  });
}
