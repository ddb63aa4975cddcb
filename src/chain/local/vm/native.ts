/** Finds and loads the LiteSVM build for this machine, and names the part of it that is used; nothing else of the package is needed. */
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';

export interface NativeAccount {
  lamports(): bigint;
  /** Copied out of the instance at each call. */
  data(): Uint8Array;
  owner(): Uint8Array;
  executable(): boolean;
  rentEpoch(): bigint;
}

/** An error without fields is its number in the tables of `errors.ts`. */
export type NativeInstructionError = number | { readonly code?: number; readonly msg?: string };

export type NativeTransactionError =
  | number
  | { readonly index?: number; readonly accountIndex?: number; err?(): NativeInstructionError };

interface NativeMetadata {
  logs(): string[];
  computeUnitsConsumed(): bigint;
}

interface NativeFailure {
  err(): NativeTransactionError;
  meta(): NativeMetadata;
}

/** What has to be known of the machine itself. */
export interface NativeSvm {
  setSigverify(verify: boolean): void;
  setBlockhashCheck(check: boolean): void;
  setTransactionHistory(capacity: bigint): void;
  setLogBytesLimit(limit?: bigint): void;
  setClock(clock: object): void;
  setSlotHashes(slots: readonly { readonly slot: bigint; readonly hash: string }[]): void;
  setAccount(address: ReadonlyBytes, account: NativeAccount): void;
  getAccount(address: ReadonlyBytes): NativeAccount | null;
  addProgram(address: ReadonlyBytes, program: ReadonlyBytes): void;
  /** Takes legacy and versioned bytes alike. Ends the process on bytes that are no transaction. */
  sendVersionedTransaction(transaction: ReadonlyBytes): NativeMetadata | NativeFailure;
}

export interface NativeModule {
  LiteSvm: new () => NativeSvm;
  Account: new (
    lamports: bigint,
    data: ReadonlyBytes,
    owner: ReadonlyBytes,
    executable: boolean,
    rentEpoch: bigint,
  ) => NativeAccount;
  Clock: new (
    slot: bigint,
    epochStartTimestamp: bigint,
    epoch: bigint,
    leaderScheduleEpoch: bigint,
    unixTimestamp: bigint,
  ) => object;
  FailedTransactionMetadata: new () => NativeFailure;
}

/** What of a machine decides which build fits it. */
interface Platform {
  readonly os: string;
  readonly cpu: string;
}

/**
 * Names of the packages with a build for a machine, likeliest first. Which C library a Linux has is not asked beforehand:
 * the build for the other one does not load, and node's own report, which would tell, takes longer than loading.
 */
export const nativePackageNames = ({ os, cpu }: Platform): readonly string[] =>
  os === 'linux' ? [`litesvm-linux-${cpu}-gnu`, `litesvm-linux-${cpu}-musl`] : [`litesvm-${os}-${cpu}`];

/**
 * Loads LiteSVM.
 * @param host - another machine, under test.
 * @throws `ERR_INTERNAL` when there is no build for the machine, or it is not installed.
 */
export function loadNative(host: Platform = { os: platform(), cpu: arch() }): NativeModule {
  const require = createRequire(import.meta.url);
  const names = nativePackageNames(host);
  let cause: unknown;
  for (const name of names) {
    try {
      return require(name) as NativeModule;
    } catch (error) {
      cause ??= error;
    }
  }
  throw new FlywheelError('ERR_INTERNAL', problem(host, names), { cause });
}

/** LiteSVM is built for these; the rest of the program also runs elsewhere, against a remote API. */
const hasBuild = ({ os, cpu }: Platform): boolean =>
  ['linux', 'darwin'].includes(os) && ['x64', 'arm64'].includes(cpu);

/** With the remedy in it: what a command that has begun hints at is how it is resumed. */
const problem = (host: Platform, names: readonly string[]): string =>
  hasBuild(host)
    ? `The embedded chain needs the package ${names.join(' or ')}, which is not installed or does not run on this machine. Install flywheel again without --omit=optional, or use a server with --api-url.`
    : `The embedded chain does not run on this machine: there is no LiteSVM build for ${host.os} on ${host.cpu}. Use Linux or macOS on x64 or arm64 (on Windows: WSL), or a server with --api-url.`;
