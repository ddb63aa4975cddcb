/** What a batch takes from the vault: how much is burned, how much goes to whom. What is allowed of it is decided elsewhere. */
import type { PipelineContent } from '../actions/pipelines.js';
import { actionRecipients, totalOf } from '../actions/registry.js';
import type { Address } from '../values/address.js';

/** Base units. */
export interface Outflow {
  readonly burned: bigint;
  readonly airdropped: bigint;
  /** What each recipient gets, in the order in which they come first. */
  readonly recipients: ReadonlyMap<Address, bigint>;
}

export function outflowOf(pipelines: readonly PipelineContent[]): Outflow {
  const actions = pipelines.flatMap((pipeline) => pipeline.actions);
  const recipients = new Map<Address, bigint>();
  for (const action of actions) {
    const amount = 'amount' in action ? action.amount : 0n;
    for (const recipient of actionRecipients(action))
      recipients.set(recipient, (recipients.get(recipient) ?? 0n) + amount);
  }
  return { burned: totalOf('burn', actions), airdropped: totalOf('airdrop', actions), recipients };
}

/** All that leaves the vault, in base units. */
export const totalOutflow = ({ burned, airdropped }: Pick<Outflow, 'burned' | 'airdropped'>): bigint =>
  burned + airdropped;
