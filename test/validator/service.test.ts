/** The service on a validator: VALIDATOR_URL is its JSON-RPC address; it has the Squads program and grants airdrops. */

import { openServiceOver } from '../specification/in-process-service.js';
import { ON_CHAIN, specification } from '../specification/suites.js';
import { openOnValidator } from './validator.js';

const url = process.env['VALIDATOR_URL'];
if (url === undefined || url === '')
  throw new TypeError('VALIDATOR_URL names no validator, such as http://127.0.0.1:8899.');

specification(ON_CHAIN, () => openServiceOver((owner) => openOnValidator(url, owner)));
