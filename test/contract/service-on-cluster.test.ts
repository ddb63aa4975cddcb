/** The engine on a cluster. */
import { openOnCluster } from '../support/service.js';
import { serviceContract } from './service/service.js';

serviceContract('on a cluster', () => openOnCluster());
