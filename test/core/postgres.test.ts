import { openService } from '../support/in-process-service.js';
import { core } from './core.js';

core('on PostgreSQL', () => openService({ store: 'postgres' }));
core('on PostgreSQL, through two servers', () => openService({ store: 'postgres', servers: 2 }));
