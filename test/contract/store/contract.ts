/** The contract of every store, whatever its database. */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import type { OpenStore, StoreUnderTest } from '../../support/store.js';
import { batches, bundles } from './batches.js';
import { burns } from './burns.js';
import { constraints } from './constraints.js';
import { register } from './records.js';
import { registrations } from './registrations.js';
import { requests } from './requests.js';
import { rules } from './rules.js';
import { transactions } from './transactions.js';
import { unfinished } from './unfinished.js';
import { usage } from './usage.js';

/** @param isWhole - `false`: only the suites on money and requests, because the others run on another database. */
export function storeContract(database: string, openStore: OpenStore, isWhole = true): void {
  describe(`store on ${database}`, () => {
    let under: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      under = await openStore();
      store = under.store;
      await register(store);
    });
    afterEach(() => under.dispose());

    requests(() => store);
    burns(() => store);
    usage(() => store);
    bundles(() => store);
    transactions(() => under);
    rules(() => under);
    constraints(() => under, isWhole);
    if (!isWhole) return;
    registrations(() => store);
    batches(() => store);
    unfinished(() => under);
  });
}
