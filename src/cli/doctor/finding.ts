/** One thing that `flywheel doctor` looked at, and how an error becomes one. */
import type { NodeAddress } from '../../chain/node-address.js';
import type { NodeState } from '../../chain/node-report.js';
import type { Source } from '../../compose/settings.js';
import { EXIT, type ExitCode } from '../../errors/exit-codes.js';
import { type FlywheelError, wrapUnknown } from '../../errors/flywheel-error.js';

/** One thing that was looked at. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly hint?: string;
  /** What is known of an RPC node. */
  readonly rpc?: { readonly url: NodeAddress; readonly source: Source } & NodeState;
  /** Code of the error, where it is not ok. */
  readonly error?: string;
  readonly exit: ExitCode;
}

/** What is not in order. */
export const failed = (name: string, error: FlywheelError): Finding => ({
  name,
  ok: false,
  detail: error.message,
  ...(error.hint === undefined ? {} : { hint: error.hint }),
  error: error.wireCode,
  exit: error.exitCode,
});

/** Looks, and takes what is thrown for what is found. */
export async function check(name: string, look: () => string | Promise<string>): Promise<Finding> {
  try {
    return { name, ok: true, detail: await look(), exit: EXIT.done };
  } catch (thrown) {
    return failed(name, wrapUnknown(thrown));
  }
}
