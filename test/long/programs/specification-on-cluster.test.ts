import { BATCHES, BURNS, REQUESTS, specification } from '../../specification/suites.js';
import { openService } from '../../support/in-process-service.js';

specification({ ...BURNS, ...BATCHES, ...REQUESTS }, () => openService({ chain: 'cluster' }));
