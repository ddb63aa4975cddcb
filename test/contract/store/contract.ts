/** What every store does, whatever database it is over. */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { type OpenStore, register, type StoreUnderTest } from '../../support/store.js';
import { batches, bundles } from './batches.js';
import { burns } from './burns.js';
import { constraints } from './constraints.js';
import { landings } from './landings.js';
import { registrations } from './registrations.js';
import { requests } from './requests.js';
import { transactions } from './transactions.js';
import { unfinished } from './unfinished.js';
import { usage } from './usage.js';

export function storeContract(database: string, openStore: OpenStore): void {
  describe(`store on ${database}`, () => {
    let under: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      under = await openStore();
      store = under.store;
      await register(store);
    });
    afterEach(() => under.dispose());

    registrations(() => store);
    requests(() => store);
    burns(() => store);
    usage(() => store);
    batches(() => store);
    bundles(() => store);
    landings(() => store);
    unfinished(() => under);
    constraints(() => under);
    transactions(() => under);
  });
}
