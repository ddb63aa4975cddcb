/** Connection settings from the environment and the options: proxy and certificates. */
import { readFileSync } from 'node:fs';
import type { RemoteServiceDeps } from '../client/remote-service.js';
import { onFile } from '../files/read-file.js';
import type { Ambient } from './context.js';

/** @throws `ERR_CONFIG_INVALID` */
export function httpEnvironment({ env }: Ambient): Pick<RemoteServiceDeps, 'proxy' | 'extraCa'> {
  const httpsProxy = env['HTTPS_PROXY'] ?? env['https_proxy'];
  const noProxy = env['NO_PROXY'] ?? env['no_proxy'];
  const caFile = env['NODE_EXTRA_CA_CERTS'];
  return {
    proxy: { ...(httpsProxy ? { httpsProxy } : {}), ...(noProxy ? { noProxy } : {}) },
    ...(caFile ? { extraCa: readCa(caFile) } : {}),
  };
}

const readCa = (path: string): string =>
  onFile('ERR_CONFIG_INVALID', `NODE_EXTRA_CA_CERTS: ${path}`, () => readFileSync(path, 'utf8'));
