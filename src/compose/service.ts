/** A service with what a command needs beside it: the key, the chain, the flywheel to trust. */
import type { Pins } from '../approval/pins.js';
import type { ChainReader, Simulator } from '../chain/chain.js';
import type { Flywheel } from '../chain/flywheel.js';
import type { ChainSender } from '../chain/send.js';
import type { Foresight, Recovery } from '../contract/local-admin.js';
import type { Service } from '../contract/service.js';
import type { Secret } from '../values/secret.js';

export interface OpenedService {
  readonly kind: 'embedded' | 'remote';
  readonly service: Service;
  readonly credential: Secret | null;
  /** The local ledger or the user's own RPC; `null` where no chain can be read. */
  readonly chain: ChainReader | null;
  /** Brings a signed transaction onto that chain; `null` where there is none. */
  readonly sender: ChainSender | null;
  /** The chain is a ledger of this machine: to look at it takes no network. */
  readonly isOnThisMachine: boolean;
  /** Name of the public cluster that it is on, where that is known without asking; else `null`. */
  readonly explorer: string | null;
  /** That chain, as wallets call it. @throws `ERR_UNAVAILABLE` */
  walletChain(): Promise<string>;
  /**
   * The flywheel that the user trusts, from the local registration or the profile: every address that an approval may name.
   * `null` when nothing is pinned.
   */
  trusted(): Promise<Flywheel | null>;
  /** What votes are held against; known whether or not a chain can be read. `null` when nothing is pinned. */
  readonly pins: Pins | null;
  /** What was confirmed just now is pinned for the rest of the command, whether or not a profile keeps it. */
  confirm(pins: Pins): void;
  /** What the token is called where it was registered; `null` where that is elsewhere. */
  readonly symbol: string | null;
  /** A machine to try a batch out in. @throws `ERR_INTERNAL` where there is none for this computer. */
  simulator(): Promise<Simulator>;
  /** What requests would come to; `null` where the service is elsewhere and would have to be sent them. */
  readonly foresight: Foresight | null;
  /** What the service itself has left unfinished; `null` where it is elsewhere and sees to that. */
  readonly recovery: Recovery | null;
  /** Whose operations a journal keeps. */
  readonly operations: {
    readonly directory: string;
    /** Of the service, or the chain of an engine of this process. */
    readonly address: string;
    /** Its multisig and mint; `null` where they are not known. */
    readonly flywheel: string | null;
  };
  /** Takes in which flywheel it is of, before its journal is opened; `null` where that is known. */
  readonly locate: ((flywheel: Pick<Pins, 'multisig' | 'mint'>) => void) | null;
  /** Transactions that the chain has taken back since they landed, found when it was opened; they are pending again. */
  readonly takenBack: number;
  close(): Promise<void>;
}

/** The machine is loaded when it is first asked for. */
export async function openSimulator(): Promise<Simulator> {
  const { createSimulator } = await import('../chain/local/simulator.js');
  return createSimulator();
}

/** A flywheel as a journal names it. */
export const flywheelText = (pins: Pick<Pins, 'multisig' | 'mint'> | null): string | null =>
  pins === null ? null : `${pins.multisig} ${pins.mint}`;
