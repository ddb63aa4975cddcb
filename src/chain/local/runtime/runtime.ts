/** The runtime as the local chain uses it: LiteSVM with the Squads program, ours or the real one. */
import { SQUADS_PROGRAM } from '../../programs.js';
import { runSquads } from '../squads/program.js';
import { LocalRuntime, type Runtime } from './local-runtime.js';

export type { AccountSource, ExecutionResult, Runtime, RuntimeClock } from './local-runtime.js';

/**
 * Makes a runtime; it loads LiteSVM, so make one a process and only when transactions have to run.
 *
 * @param options.squadsProgram - bytes of the real program; without them the native one runs.
 * @throws `ERR_INTERNAL` when there is no LiteSVM for this machine.
 */
export const createRuntime = (options: { readonly squadsProgram?: Uint8Array } = {}): Runtime =>
  new LocalRuntime({ ...options, nativePrograms: new Map([[SQUADS_PROGRAM, runSquads]]) });
