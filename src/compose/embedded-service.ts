/** The embedded engine as a command's service, with limits on waiting for a cluster and for other processes. */
import { walletChain } from '../chain/node-address.js';
import type { Call } from '../contract/call.js';
import { callOperation, eachOperation, type Perform, type Service } from '../contract/service.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Ambient } from './context.js';
import { type EngineOptions, openEngine } from './open-engine.js';
import { opening } from './opened.js';
import { flywheelText, type OpenedService, openSimulator } from './service.js';
import type { Settings } from './settings.js';

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done */
export const openEmbeddedService = (
  ambient: Ambient,
  settings: Settings,
  options: Pick<EngineOptions, 'between'> = {},
): Promise<OpenedService> =>
  opening(async (opened) => {
    const { engine, chain, sender, network, project } = opened.keep(
      await openEngine(ambient, settings, options),
    );
    const { tokenId, symbol, credential, flywheel, ...registered } = await project();
    const isLocal = network.kind === 'ledger';
    const waitMs = settings.waitSeconds.value * 1_000;
    const { source, value: given } = settings.pinned;
    let pins = source === 'flag' && given !== null ? given : registered.pins;
    return {
      kind: 'embedded',
      // The embedded ledger answers at once; only a cluster needs a time limit.
      service: withPatience(ambient, engine, waitMs, { isLimited: !isLocal }),
      ...{ credential, symbol, chain, sender },
      ...{ isOnThisMachine: isLocal, explorer: network.name },
      walletChain: async () => walletChain(network.genesisHash),
      trusted: async () => flywheel,
      get pins() {
        return pins;
      },
      confirm: (confirmed) => {
        pins = confirmed;
      },
      simulator: openSimulator,
      foresight: engine.foresight,
      recovery: {
        unfinished: () => engine.unfinished({ tokenId }),
        finish: (terms) => engine.reconcile({ ...terms, tokenId }),
      },
      operations: {
        directory: settings.dataDir.value,
        // The same for a data directory and for the database that it was copied into.
        address: isLocal
          ? `embedded:${network.genesisHash}`
          : `cluster:${network.genesisHash}:${flywheel?.mint ?? ''}`,
        flywheel: flywheelText(pins),
      },
      locate: null,
      takenBack: isLocal ? 0 : await engine.watch({ tokenId }),
      close: () => opened.close(),
    };
  });

/**
 * Repeats an operation for `waitMs` while another process works on the same request or batch. If that process died, its lease expires
 * meanwhile.
 * @param isLimited - also end the operation itself after `waitMs`. What was sent by then is stored, and the same call resumes it.
 * @throws `ERR_TIMEOUT` if the outcome is not known in time
 */
export function withPatience(
  { clock, sleep }: Pick<Ambient, 'clock' | 'sleep'>,
  service: Service,
  waitMs: number,
  { isLimited }: { readonly isLimited: boolean },
): Service {
  const patient: Perform = async (id, input, call) => {
    const endMs = clock.nowMs() + waitMs;
    const { limited, isLate } = limitedTo(isLimited ? waitMs : null, call);
    for (;;) {
      const answer = await callOperation(service, id, input, limited).catch(async (error: unknown) => {
        if (isLate(error)) throw stillOpen(waitMs, error);
        const pauseMs = pauseOf(error);
        if (clock.nowMs() + pauseMs > endMs) throw error;
        await sleep(pauseMs);
      });
      if (answer !== undefined) return answer;
    }
  };
  return { ...eachOperation(patient), close: () => service.close() };
}

/** The call, which ends after `waitMs`, and whether an error comes from that. */
function limitedTo(waitMs: number | null, call: Call) {
  if (waitMs === null) return { limited: call, isLate: () => false };
  const late = AbortSignal.timeout(waitMs);
  const signal = call.signal === undefined ? late : AbortSignal.any([call.signal, late]);
  const isLate = (error: unknown): boolean =>
    late.aborted && call.signal?.aborted !== true && isFlywheelError(error, 'ERR_INTERRUPTED');
  return { limited: { ...call, signal }, isLate };
}

/** Infinite unless another process is working on it. */
function pauseOf(error: unknown): number {
  const isHeld =
    isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY') ||
    isFlywheelError(error, 'ERR_BATCH_IN_PROGRESS');
  const { retryAfterSeconds } = isHeld ? error.options : {};
  return (retryAfterSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
}

const stillOpen = (waitMs: number, cause: unknown): FlywheelError =>
  new FlywheelError(
    'ERR_TIMEOUT',
    `No outcome after ${waitMs / 1_000} s. The transaction is stored and may still land.`,
    { cause, hint: 'Run the same command again to keep waiting, or set a longer --wait.' },
  );
