/** A service with what commands need beside it: API key, chain, trusted flywheel, journal identity. */
import type { Pins } from '../approval/pins.js';
import type { ChainReader, Flywheel, Simulator } from '../chain/chain.js';
import type { ChainSender } from '../chain/send.js';
import type { RecoveryTerms } from '../contract/admin.js';
import type { Service } from '../contract/service.js';
import type { Engine } from '../engine/engine.js';
import type { Secret } from '../values/secret.js';

export interface OpenedService {
  readonly kind: 'embedded' | 'remote';
  readonly service: Service;
  readonly credential: Secret | null;
  /** The embedded ledger or the user's RPC nodes; `null` if no chain can be read. */
  readonly chain: ChainReader | null;
  /** Sends signed transactions to that chain; `null` without one. */
  readonly sender: ChainSender | null;
  /** The chain is a ledger on this machine: reads need no network. */
  readonly isOnThisMachine: boolean;
  /** Name of the public cluster for explorer links, if known without a request. */
  readonly explorer: string | null;
  /** The chain id that wallets use. @throws `ERR_UNAVAILABLE` */
  walletChain(): Promise<string>;
  /**
   * The flywheel that the user trusts, from the local registration or the profile: all addresses that an approval may name.
   * `null` without pins.
   */
  trusted(): Promise<Flywheel | null>;
  /** Votes must match them; known without reading a chain. */
  readonly pins: Pins | null;
  /** Pins for the rest of the command, whether or not a profile stores them. */
  confirm(pins: Pins): void;
  /** The token's symbol from the local registration; `null` in remote use. */
  readonly symbol: string | null;
  /** Runs a batch in a local virtual machine. @throws `ERR_INTERNAL` if there is no build for this platform */
  simulator(): Promise<Simulator>;
  /** Dry runs; `null` in remote use. */
  readonly foresight: Engine['foresight'] | null;
  /** Unfinished work of the embedded engine; `null` in remote use, where the service recovers itself. */
  readonly recovery: {
    unfinished(): ReturnType<Engine['unfinished']>;
    finish(terms: RecoveryTerms): Promise<unknown>;
  } | null;
  /** Identifies the journal's operations. */
  readonly operations: {
    readonly directory: string;
    /** Of the service, or of the embedded engine's chain. */
    readonly address: string;
    /** Multisig and mint; `null` if unknown. */
    readonly flywheel: string | null;
  };
  /**
   * Sets the flywheel before the journal opens; `null` if the service has told it, or need not.
   * @throws `ERR_CONFIG_INVALID` for another one than the pinned
   */
  readonly locate: ((flywheel: Pick<Pins, 'multisig' | 'mint'>) => void) | null;
  /** Transactions that the chain rolled back, found on opening; they are pending again. */
  readonly takenBack: number;
  close(): Promise<void>;
}

/** The virtual machine loads at the first use. */
export async function openSimulator(): Promise<Simulator> {
  const { createSimulator } = await import('../chain/local/simulator.js');
  return createSimulator();
}

/** The form that journals store. */
export const flywheelText = (pins: Pick<Pins, 'multisig' | 'mint'> | null): string | null =>
  pins === null ? null : `${pins.multisig} ${pins.mint}`;
