/**
 * The ports of a process, store, chain and journal: each call is a step. The only import of their types and errors in the
 * simulator.
 */
import type { Chain, ChainReader } from '../../src/chain/chain.js';
import { type LocalChain, traceByLookUp } from '../../src/chain/local/local-chain.js';
import type { Begun, Entry, Journal } from '../../src/cli/journal/journal.js';
import type { EngineFiles } from '../../src/compose/open-engine.js';
import { FlywheelError, isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { Store, StoreTransaction } from '../../src/store/store.js';
import { replacing } from '../support/doubles.js';
import type { Fault } from './faults.js';
import type { SimProcess } from './process.js';

export type {
  HttpAnswer,
  HttpFailure,
  HttpRequest,
  Terms,
  Transport,
} from '../../src/transport/transport.js';
export type { LocalChain };

/** Thrown where a step cannot stay pending; the dead process has no effect any more. */
export class Killed extends Error {}

export const failure = (code: ConstructorParameters<typeof FlywheelError>[0], message: string): Error =>
  new FlywheelError(code, message);
export const isFailure = isFlywheelError;

const locked = (): Error =>
  failure('ERR_STORE_UNAVAILABLE', 'The store is locked by another process (waited 5 s).');
const unreachable = (): Error => failure('ERR_UNAVAILABLE', 'The chain is out of reach.');

export interface ChainWatch {
  /** This process has sent a transaction that may have landed. */
  landed(process: SimProcess): void;
  /** The bytes arrive later. */
  onTheWay(process: SimProcess, deliver: (chain: LocalChain) => Promise<unknown>): void;
}

const READ: readonly Fault[] = ['refuse'];
const SEND: readonly Fault[] = ['refuse', 'mute', 'late'];

function simStore(process: SimProcess, store: Store): Store {
  /** A database transaction is one effect; a process that dies inside it has changed nothing. */
  const inside =
    (work: (tx: StoreTransaction) => Promise<unknown>) =>
    async (tx: StoreTransaction): Promise<unknown> => {
      if (!process.alive) throw new Killed();
      return work(tx);
    };
  const call = <Value>(label: string, act: () => Promise<Value>): Promise<Value> =>
    process.port({ label, faults: READ, refusal: locked, act, isFiles: true });
  return replacing(store, {
    reserve: (...asked) => call('store write', () => store.reserve(...asked)),
    transaction: ((work) =>
      call('store write', () => store.transaction(inside(work)))) as Store['transaction'],
    read: ((work) => call('store read', () => store.read(inside(work)))) as Store['read'],
  });
}

function simReader<Reader extends ChainReader>(process: SimProcess, chain: Reader): Reader {
  const read = <Value>(label: string, act: () => Promise<Value>): Promise<Value> =>
    process.port({ label, faults: READ, refusal: unreachable, act });
  const parts: Omit<ChainReader, 'history'> = {
    getAccounts: (addresses) => read('chain accounts', () => chain.getAccounts(addresses)),
    latestBlockhash: () => read('chain blockhash', () => chain.latestBlockhash()),
    lookUp: (signatures) => read('chain look-up', () => chain.lookUp(signatures)),
    isBlockhashValid: (blockhash) => read('chain blockhash check', () => chain.isBlockhashValid(blockhash)),
  };
  return replacing<Reader>(chain, parts as Partial<Reader>);
}

/** The user's own node, with transaction history. */
export function simNode(process: SimProcess, ledger: LocalChain): ChainReader {
  const reader = simReader<ChainReader>(process, ledger);
  const history: ChainReader['history'] = (account, past) =>
    process.port({
      label: 'chain past',
      faults: READ,
      refusal: unreachable,
      act: () => ledger.history(account, past),
    });
  return replacing(reader, { history });
}

function simChain(process: SimProcess, chain: LocalChain, watch: ChainWatch): LocalChain {
  const send = (
    label: string,
    submit: (to: LocalChain) => ReturnType<Chain['submit']>,
  ): ReturnType<Chain['submit']> => {
    const act = async (): ReturnType<Chain['submit']> => {
      const receipt = await submit(chain);
      watch.landed(process);
      return receipt;
    };
    const later = (): void => watch.onTheWay(process, submit);
    return process.port({ label, faults: SEND, refusal: unreachable, act, later });
  };
  const act = (): Promise<bigint> => chain.expiredHeight();
  const parts: Partial<Chain> = {
    expiredHeight: () => process.port({ label: 'chain expiry', faults: READ, refusal: unreachable, act }),
    submit: (transactions) => send('chain submit', (to) => to.submit(transactions)),
    submitBundles: (bundles) => send('chain submit bundles', (to) => to.submitBundles(bundles)),
  };
  const over: LocalChain = replacing<LocalChain>(simReader(process, chain), {
    ...parts,
    trace: async (sought) => traceByLookUp(over, sought, await over.expiredHeight()),
  });
  return over;
}

/** Closed when the process ends. */
export const simFiles =
  (process: SimProcess, watch: ChainWatch) =>
  ({ store, chain }: EngineFiles): EngineFiles => {
    process.onEnd(() => store.close());
    process.onEnd(() => chain.close());
    return { store: simStore(process, store), chain: simChain(process, chain, watch) };
  };

function simEntry(process: SimProcess, entry: Entry): Entry {
  const write = <Value>(act: () => Value): Value => process.sync('journal', act);
  return replacing(entry, {
    note: (notes) => write(() => entry.note(notes)),
    keep: (name, answer) => write(() => entry.keep(name, answer)),
    reopen: (elements, notes, landed) => write(() => entry.reopen(elements, notes, landed)),
    settle: (verdict) => write(() => entry.settle(verdict)),
    markPrinted: () => write(() => entry.markPrinted()),
    release: () => write(() => entry.release()),
    remove: () => write(() => entry.remove()),
  });
}

/** Journal calls are synchronous, so a process dies or finds the disk full inside them. */
export function simJournal(process: SimProcess, journal: Journal): Journal {
  const begun = <Taken extends Begun | undefined>(found: Taken): Taken =>
    found?.status === 'taken' ? { ...found, entry: simEntry(process, found.entry) } : found;
  return replacing(journal, {
    begin: (request) => begun(process.sync('journal', () => journal.begin(request))),
    take: (id) => begun(process.sync('journal', () => journal.take(id))),
    takeBatch: (batchId) => {
      const entry = process.sync('journal', () => journal.takeBatch(batchId));
      return entry && simEntry(process, entry);
    },
  });
}
