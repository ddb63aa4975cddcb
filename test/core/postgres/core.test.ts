import { describe } from 'vitest';
import { ON_STORE, specification } from '../../specification/suites.js';
import { openService } from '../../support/in-process-service.js';
import { isLong } from '../../support/long.js';

for (const servers of isLong ? [1, 2] : [2])
  describe(`a service on PostgreSQL, through ${servers} servers`, () =>
    specification(ON_STORE, () => openService({ store: 'postgres', servers })));
