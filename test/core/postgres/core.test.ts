import { describe } from 'vitest';
import { openService } from '../../specification/in-process-service.js';
import { ON_STORE, specification } from '../../specification/suites.js';
import { isLong } from '../../support/long.js';

for (const servers of isLong ? [1, 2] : [2])
  describe(`a service on PostgreSQL, through ${servers} servers`, () =>
    specification(ON_STORE, () => openService({ store: 'postgres', servers })));
