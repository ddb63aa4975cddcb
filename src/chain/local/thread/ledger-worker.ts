/** The ledger's thread: runs transactions and commits them, one request after the other, on a connection of its own. */
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../errors/flywheel-error.js';
import { noteSignedHere } from '../../transaction/signed-here.js';
import { type LocalChain, openLocalChain } from '../local-chain.js';
import {
  type ThreadAnswer,
  type ThreadData,
  type ThreadRequest,
  toPlainError,
  transactionsOf,
} from './protocol.js';

invariant(parentPort !== null, 'This file is started as a thread.');
const port = parentPort;
const { path, squadsProgram } = workerData as ThreadData;
const outside = { nowMs: 0, storeRevision: 0 };

let opening: Promise<LocalChain> | undefined;
const open = (): Promise<LocalChain> => {
  opening ??= openLocalChain({
    path,
    create: false,
    genesis: { accounts: [] },
    clock: { nowMs: () => outside.nowMs },
    storeRevision: () => outside.storeRevision,
    ...(squadsProgram === undefined ? {} : { squadsProgram }),
  });
  return opening;
};

async function answer(request: ThreadRequest): Promise<ThreadAnswer> {
  const { id, nowMs, storeRevision, areSignedHere } = request;
  try {
    const chain = await open();
    Object.assign(outside, { nowMs, storeRevision });
    for (const [index, wire] of transactionsOf(request).entries())
      if (areSignedHere[index] === true) noteSignedHere(wire);
    const receipt =
      'bundles' in request
        ? await chain.submitBundles(request.bundles)
        : await chain.submit(request.transactions);
    return { id, receipt };
  } catch (error) {
    return { id, error: toPlainError(error) };
  }
}

/** After a write that others may have waited for: longer than they wait between two tries. */
const GAP_MS = 2;
const LONG_WRITE_MS = 10;

async function serve(request: ThreadRequest): Promise<void> {
  const startMs = performance.now();
  port.postMessage(await answer(request));
  if (performance.now() - startMs >= LONG_WRITE_MS) await delay(GAP_MS);
}

async function close(): Promise<void> {
  await (await opening)?.close();
  port.close();
}

let last: Promise<void> = Promise.resolve();
port.on('message', (request: ThreadRequest | 'close') => {
  last = last.then(() => (request === 'close' ? close() : serve(request)));
});
