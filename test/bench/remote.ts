/** Measures one command against a local service, relative to an empty Node process. */
import { initHome, serve } from '../support/http-serve.js';
import { besideBareNode, runNode } from './processes.js';
import { type BenchRatio, medianOf } from './ratio.js';

const MEMORY_RUNS = 5;

export async function benchRemote(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const home = await initHome();
  const server = await serve(home);
  try {
    const own = { ...env, FLYWHEEL_API_KEY: home.key };
    const words = [bin, '--api-url', server.url, 'batch', 'current', '--json'];
    const ratio = await besideBareNode(words, own);
    const peak = await medianOf(MEMORY_RUNS, async () => (await runNode(words, own, true)).peakMib);
    return [
      { name: 'one remote command : node -e 0', ratio, target: 4.6 },
      { name: 'one remote command, peak memory', ratio: peak, target: 80, unit: 'MiB' },
    ];
  } finally {
    await server.end('SIGTERM');
  }
}
