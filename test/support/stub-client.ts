/** Our client before a server with scripted answers. */
import { onTestFinished } from 'vitest';
import type { RemoteServiceDeps } from '../../src/client/remote-service.js';
import { remoteClient } from './http.js';
import { type StubAnswer, startStub } from './http-stub.js';

/** Both are closed with the test. */
export async function clientTo(answer: StubAnswer, deps: Partial<RemoteServiceDeps> = {}) {
  const stub = await startStub(answer);
  const warnings: string[] = [];
  const client = remoteClient(stub.url, { onWarning: (text) => warnings.push(text), ...deps });
  onTestFinished(async () => {
    await client.service.close();
    await stub.close();
  });
  return { stub, warnings, ...client };
}
