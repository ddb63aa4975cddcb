/**
 * Expected: an operation whose answer was lost is resumed by sending its request again only while the service must still know its key; after
 * 30 days (contract 1.4) its outcome stays unknown until somebody has looked.
 * Today `pending resume` sends it whenever it is asked: a service that was in use on more than 30 days since has forgotten the key, and burns again.
 *
 * Run by hand from the root: `node test/conformance/run-typescript.mjs test/scenes/resumed-after-retention.ts`.
 */
import { join } from 'node:path';
import { ask, initHome, serve } from '../support/http-serve.js';
import { startCuttingProxy } from '../support/http-stub.js';
import { flywheel } from '../support/spawn.js';
import { expectSeen } from './scene.js';

const DAYS = 35;
const DAY_MS = 86_400_000;

const onDay = (day: number): Record<string, string> => ({
  NODE_OPTIONS: `--require=${join(process.cwd(), 'test/support/fault-points.cjs')}`,
  FAULT_CLOCK_AHEAD_MS: String(day * DAY_MS),
});
const home = await initHome();
const here = (day: number, ...words: string[]) =>
  flywheel({ home: home.home, env: { ...onDay(day), FLYWHEEL_DATA_DIR: home.dataDir } }, ...words);
const burn = (proof: object): string[] => [
  ...['burn', '--type', 'WATCH_AD', '--proof', JSON.stringify(proof), '--amount', '1', '--json'],
];
const burned = async (): Promise<number> =>
  Number(JSON.parse((await here(DAYS, 'local', 'status', '--json')).stdout).burned);

const first = await serve({ ...home, env: onDay(0) });
const proxy = await startCuttingProxy(Number(new URL(first.url).port));
proxy.cuts = ['after', 'after', 'after'];
const remotely = (day: number, url: string, ...words: string[]) =>
  flywheel(
    { home: home.home, env: { ...onDay(day), FLYWHEEL_API_KEY: home.key, FLYWHEEL_API_URL: url } },
    ...words,
  );
const lost = await remotely(0, proxy.url, ...burn({ lost: true }));
await first.end('SIGTERM');
await proxy.close();
for (let day = 1; day < DAYS; day += 1) {
  const server = await serve({ ...home, env: onDay(day) });
  await ask(`${server.url}/v1/flywheel/batch/current`, home.key);
  await server.end('SIGTERM');
}
const before = await burned();

const port = new URL(proxy.url).port;
const second = await serve({ ...home, env: onDay(DAYS) }, '--port', port);
const resumed = await remotely(DAYS, proxy.url, 'pending', 'resume', '--json');
await second.end('SIGTERM');
const seen = { lost: lost.exit, resumed: resumed.exit, burnedAgain: (await burned()) - before };
expectSeen(
  `resumed after the service was in use on ${DAYS} days`,
  seen,
  seen.lost === 7 && seen.burnedAgain === 0,
);
