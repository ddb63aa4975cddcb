/** The ledger's thread as it is built, which takes every transaction. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ThreadOptions } from '../../src/chain/local/thread/ledger-thread.js';

export const BUILT_THREAD: ThreadOptions = {
  file: pathToFileURL(resolve('dist/ledger-worker.cjs')),
  from: 1,
};
