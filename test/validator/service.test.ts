/** The service on a validator: VALIDATOR_URL names its JSON-RPC; the Squads program is on it, and it gives airdrops. */
import { serviceContract } from '../contract/service/service.js';
import { openOnValidator } from '../support/validator.js';

const url = process.env['VALIDATOR_URL'];
if (url === undefined || url === '')
  throw new TypeError('VALIDATOR_URL names no validator, such as http://127.0.0.1:8899.');

serviceContract('on a validator', () => openOnValidator(url));
