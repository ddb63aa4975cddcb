import { openService } from '../support/in-process-service.js';
import { REQUESTS, specification } from './suites.js';

specification(REQUESTS, () => openService());
