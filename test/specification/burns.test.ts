import { openService } from '../support/in-process-service.js';
import { BURNS, specification } from './suites.js';

specification(BURNS, () => openService());
