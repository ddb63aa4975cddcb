import { openService } from '../../support/in-process-service.js';
import { isLong } from '../../support/long.js';
import { core } from '../core.js';

if (isLong) core('on PostgreSQL', () => openService({ store: 'postgres' }));
core('on PostgreSQL, through two servers', () => openService({ store: 'postgres', servers: 2 }));
