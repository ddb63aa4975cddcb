/** The inner message as it comes in the arguments of an instruction: decoded, checked, and the ephemeral signers it may use. */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import { ephemeralSignerAddress } from '../../squads/layouts/addresses.js';
import { tryDecode } from '../../squads/layouts/codec.js';
import { argumentMessage, type InnerMessage, isWellFormed } from '../../squads/layouts/message.js';
import { InstructionFailure } from '../runtime/failure.js';
import type { Invocation } from '../runtime/invocation.js';
import { fail } from './errors.js';

/** Decodes a message (squads-v4.md, section 3): too short is the runtime's BorshIoError, not sound is 6006. */
export function readArgumentMessage(invocation: Invocation, bytes: ReadonlyBytes): InnerMessage {
  const message = tryDecode(argumentMessage, bytes);
  if (message === undefined) throw new InstructionFailure({ error: 'BorshIoError' });
  if (!isWellFormed(message)) fail(invocation, 'InvalidTransactionMessage');
  return message;
}

/** Canonical bumps of ephemeral signers 0 to `count` − 1. */
export const ephemeralBumps = (parent: Address, count: number): ReadonlyBytes =>
  Uint8Array.from({ length: count }, (_, index) => ephemeralSignerAddress(parent, index).bump);
