import { openService } from './in-process-service.js';
import { BURNS, specification } from './suites.js';

specification(BURNS, () => openService());
