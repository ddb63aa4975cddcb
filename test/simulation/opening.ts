/** Opens ledger, engine, client and server in a simulated process; the only import of them in the simulator. */
import { join } from 'node:path';
import { type LocalChain, openLocalChain } from '../../src/chain/local/local-chain.js';
import { resolveSettings } from '../../src/cli/config/resolve.js';
import type { OpenedService } from '../../src/cli/context.js';
import { openWithJournal } from '../../src/cli/journal/open-service.js';
import { openEmbeddedService } from '../../src/compose/embedded-service.js';
import { openRemoteService } from '../../src/compose/remote-service.js';
import { type OpenServer, openServer } from '../../src/compose/server.js';
import { FILES } from './audit/tables.js';
import type { Context, Settings } from './command-line.js';
import { type ChainWatch, failure, simFiles, simJournal, simNode, type Transport } from './ports.js';
import type { SimProcess } from './process.js';

export type { OpenServer };

const API_URL = 'http://127.0.0.1:8080';

export const openLedger = (dataDir: string, nowMs: () => number): Promise<LocalChain> =>
  openLocalChain({
    path: join(dataDir, FILES.ledger),
    clock: { nowMs },
    create: false,
    genesis: { accounts: [] },
  });

interface Opening {
  readonly process: SimProcess;
  readonly context: Context;
  readonly settings: Settings;
  readonly dataDir: string;
  readonly watch: ChainWatch;
  readonly transport: Transport;
}

export async function openService(opening: Opening): Promise<OpenedService> {
  const { process, context, settings, watch } = opening;
  const opened = await openWithJournal(context, settings, (_settings, warn) =>
    settings.apiUrl.value === null
      ? openEmbeddedService(context, settings, { between: simFiles(process, watch) })
      : openClient(opening, warn),
  );
  process.onEnd(() => opened.close());
  if (!process.alive) await opened.close();
  return {
    ...opened,
    // Trials are unavailable here, so that doomed transactions are executed and their failure is tested too.
    simulator: async () => {
      throw failure('ERR_INTERNAL', 'This computer cannot run the Solana virtual machine.');
    },
    journal: async () => simJournal(process, await opened.journal()),
  };
}

async function openClient(
  { process, context, settings, dataDir, transport }: Opening,
  warn: (text: string) => void,
) {
  const ledger = await openLedger(dataDir, context.clock.nowMs);
  process.onEnd(() => ledger.close());
  return openRemoteService(context, settings, settings.apiUrl.value ?? API_URL, {
    ...{ warn, transport, sleep: context.sleep },
    chain: simNode(process, ledger),
  });
}

export const openSimServer = (
  process: SimProcess,
  context: Context,
  dataDir: string,
  watch: ChainWatch,
): Promise<OpenServer> =>
  openServer(context, resolveSettings(context, { dataDir, local: true }), {
    logLevel: 'silent',
    metricsToken: null,
    bearer: false,
    rates: {},
    keyRates: {},
    between: simFiles(process, watch),
    nowUs: risingUs(context.clock),
  });

/** A monotonic clock: stays still while its source is behind. */
function risingUs(clock: { nowMs(): number }): () => number {
  let latest = 0;
  return () => {
    latest = Math.max(latest, clock.nowMs() * 1_000);
    return latest;
  };
}
