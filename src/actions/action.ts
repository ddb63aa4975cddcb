/** Interfaces of an action of a pipeline and of the kinds of instructions that actions become on chain. */
import type { ZodObject } from 'zod';
import type { VaultToken } from '../chain/chain.js';
import type { Instruction } from '../chain/transaction/message.js';
import type { Address } from '../values/address.js';
import type { Scope } from '../values/key-terms.js';

export type Usage = Scope;

export type InText<Content> = {
  readonly [Key in keyof Content]: Content[Key] extends bigint ? string : Content[Key];
};

export interface AnyInstruction {
  readonly kind: string;
}

export interface UnknownInstruction {
  readonly kind: 'unknown';
  readonly program: Address;
  readonly reason: string;
}

export const unknownInstruction = (program: Address, reason: string): UnknownInstruction => ({
  kind: 'unknown',
  program,
  reason,
});

/**
 * Upper bounds of running an instruction (squads-v4.md, section 10). Measured with Token-2022, in compute units: burn 6,400,
 * transfer 6,500, create and transfer 29,000, memo 4,000.
 */
export interface InstructionCost {
  /** Compute units: about twice the highest measured. */
  readonly computeUnits: number;
  readonly measuredUnits: number;
  /** Instructions executed: itself and its inner calls. */
  readonly trace: number;
  /**
   * Share of the multisig program's heap of 32 KiB; 1 is all of it. At most 25 burns, 17 transfers, or 8 times create and
   * transfer ran. A memo of up to 256 bytes takes as much as one burn.
   */
  readonly heapShare: number;
}

export interface InstructionKind<Decoded extends AnyInstruction = AnyInstruction> {
  readonly kind: Decoded['kind'];
  matches(instruction: Instruction): boolean;
  /**
   * Decodes an instruction that {@link matches}, strictly: exact data length, exact number of accounts, re-derived addresses. Any
   * difference makes it unknown, with the reason.
   */
  decode(instruction: Instruction): Decoded | UnknownInstruction;
  /** Why the vault of this project may not run the instruction, or `undefined`. */
  problem(decoded: Decoded, token: VaultToken): string | undefined;
  readonly cost: InstructionCost;
}

export interface ReadBack<Content> {
  readonly action: Content;
  readonly length: number;
}

interface Named {
  readonly action: string;
}

export interface TokenEffect {
  readonly account: Address;
  /** Base units; negative for an outgoing amount. */
  readonly amount: bigint;
}

export interface ActionKind<Source extends Named = Named, Content extends Named = Named> {
  readonly schema: ZodObject;
  /** `null` when the action moves no tokens. */
  readonly usage: Usage | null;
  /** @throws `ERR_INVALID_REQUEST` for an amount, address or text that the chain cannot represent. */
  content(source: Source, decimals: number): Content;
  /** A reason not to run the action although the chain would accept it; without its addresses and a full stop. */
  warning(content: Content, mint: Address): string | undefined;
  recipients(content: Content): readonly Address[];
  instructions(content: Content, token: VaultToken): readonly Instruction[];
  /** Changes of token balances. An amount that leaves an account and arrives in no other is burned. */
  changes(content: Content, token: VaultToken): readonly TokenEffect[];
  readonly kinds: readonly InstructionKind[];
  /**
   * Inverse of {@link instructions}: the action that starts at the first instruction; a reason, when it starts like this action
   * and is invalid; `undefined` when it is another action.
   */
  read(instructions: readonly AnyInstruction[], vault: Address): ReadBack<Content> | string | undefined;
  /** For people. The printing code escapes control characters. */
  text(content: InText<Content>): string;
}
