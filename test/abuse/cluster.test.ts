/** The engine on a cluster. */

import { serviceContract } from '../contract/service/service.js';
import { openOnCluster } from '../support/service.js';

serviceContract('on a cluster', () => openOnCluster());
