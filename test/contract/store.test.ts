import { openTemporarySqliteStore } from '../support/store.js';
import { storeContract } from './store/contract.js';

storeContract('SQLite', openTemporarySqliteStore);
