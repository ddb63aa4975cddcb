import { openService } from '../../specification/in-process-service.js';
import { BATCHES, BURNS, REQUESTS, specification } from '../../specification/suites.js';

specification({ ...BURNS, ...BATCHES, ...REQUESTS }, () => openService({ chain: 'cluster' }));
