/** The ledger's thread: runs transactions and commits them, one request after the other, on a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../errors/flywheel-error.js';
import { type LocalChain, openLocalChain } from '../local-chain.js';
import { type ThreadAnswer, type ThreadData, type ThreadRequest, toPlainError } from './protocol.js';

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
  const { id, nowMs, storeRevision } = request;
  try {
    const chain = await open();
    Object.assign(outside, { nowMs, storeRevision });
    const receipt =
      'bundles' in request
        ? await chain.submitBundles(request.bundles)
        : await chain.submit(request.transactions);
    return { id, receipt };
  } catch (error) {
    return { id, error: toPlainError(error) };
  }
}

let last: Promise<void> = Promise.resolve();
port.on('message', (request: ThreadRequest | 'close') => {
  last = last.then(async () => {
    if (request !== 'close') return port.postMessage(await answer(request));
    await (await opening)?.close();
    port.close();
  });
});
