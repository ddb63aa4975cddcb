/** A process of its own that runs one operation on a data directory, and kills itself where it is told to. */
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { DEFAULT_LIMITS } from '../../src/compose/engine.js';
import { createFileKeyring } from '../../src/compose/file-keyring.js';
import { createInstances } from '../../src/compose/instances.js';
import { dataFiles, requireLocalConfig } from '../../src/compose/local-config.js';
import type { BurnRequest } from '../../src/contract/schemas/burn.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { wrapUnknown } from '../../src/errors/flywheel-error.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { randomIds } from '../../src/values/ids.js';
import { Secret } from '../../src/values/secret.js';
import { systemClock } from '../../src/values/time.js';
import { type EngineOrder, FaultPoints } from './crash-points.js';

const order = JSON.parse(process.argv[2] ?? '') as EngineOrder;
const faults = new FaultPoints(order.killAt);
const home = requireLocalConfig(order.dataDir);
const files = dataFiles(order.dataDir);
const store = await openSqliteStore({ path: files.store });
// The ledger is there already, so the genesis is not used.
const chain = await openLocalChain({
  path: files.ledger,
  clock: systemClock,
  genesis: { accounts: [] },
});
const engine = createEngine({
  store: faults.store(store),
  chain: faults.chain(chain),
  keyring: createFileKeyring(files.keys),
  treasury: home.treasury,
  clock: systemClock,
  ids: randomIds,
  instances: createInstances(),
  actor: 'test',
  limits: DEFAULT_LIMITS,
});
process.stdout.write('ready\n');
try {
  const { value, meta } = await perform(engine, order);
  process.stdout.write(`${JSON.stringify({ points: faults.passed, replayed: meta.replayed, value })}\n`);
} catch (error) {
  const { code, message } = wrapUnknown(error);
  process.stdout.write(`${JSON.stringify({ points: faults.passed, error: code, message })}\n`);
}
await engine.close();

async function perform(on: Engine, { operation, input, key, idempotencyKey }: EngineOrder) {
  const call = { credential: new Secret(key), idempotencyKey };
  switch (operation) {
    case 'burn':
      return on.burn(input as BurnRequest, call);
    case 'burnBatch':
      return on.burnBatch(input as BurnRequest[], call);
    case 'initBatch':
      return on.initBatch(input as Parameters<Engine['initBatch']>[0], call);
    case 'executeBatch':
      return on.executeBatch(input as Parameters<Engine['executeBatch']>[0], call);
  }
}
