/** The engine in this process, and the client over HTTP. */
import { openInProcess, openOverHttp } from '../support/service.js';
import { serviceContract } from './service/service.js';

serviceContract('in process', openInProcess);
serviceContract('over HTTP', openOverHttp);
