import { openService } from './in-process-service.js';
import { BATCHES, specification } from './suites.js';

specification(BATCHES, () => openService());
