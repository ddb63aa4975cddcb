import { openService } from './in-process-service.js';
import { REQUESTS, SERVER, specification } from './suites.js';

specification({ ...REQUESTS, ...SERVER }, () => openService());
