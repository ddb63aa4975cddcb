/** What every action of a pipeline has to say of itself, and every kind of instruction that actions become on chain. */
import type { ZodObject } from 'zod';
import type { VaultToken } from '../chain/flywheel.js';
import type { Instruction } from '../chain/transaction/message.js';
import type { Address } from '../values/address.js';
import type { Scope } from '../values/key-terms.js';

/** What an action takes from the vault; each has a scope of keys and a daily cap of the same name. */
export type Usage = Scope;

export type InText<Content> = {
  readonly [Key in keyof Content]: Content[Key] extends bigint ? string : Content[Key];
};

/** An instruction of a known kind, decoded; amounts in base units. */
export interface AnyInstruction {
  readonly kind: string;
}

/** An instruction that is none of the known kinds, or not in their plain form. */
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
 * What running an instruction costs at most (squads-v4.md, section 10; Token-2022: burn 6,400, transfer 6,500, create and
 * transfer 29,000, memo 4,000 compute units).
 */
export interface InstructionCost {
  /** Compute units, generously: about twice the highest that was measured. */
  readonly computeUnits: number;
  readonly measuredUnits: number;
  /** Instructions that it runs, itself and its inner calls. */
  readonly trace: number;
  /**
   * Share of the multisig program's heap of 32 KiB, 1 being all of it. The greatest numbers that ran are 25 burns, 17
   * transfers, 8 times create and transfer; a memo of up to 256 bytes takes the place of one burn.
   */
  readonly heapShare: number;
}

export interface InstructionKind<Decoded extends AnyInstruction = AnyInstruction> {
  readonly kind: Decoded['kind'];
  matches(instruction: Instruction): boolean;
  /**
   * Decodes an instruction that {@link matches}, strictly: exact length of data, exact number of accounts, re-derived
   * addresses. What differs in the least is unknown, with the reason.
   */
  decode(instruction: Instruction): Decoded | UnknownInstruction;
  /** Why the vault of this flywheel may not do it, or `undefined`. */
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
  /** Base units; negative for what leaves it. */
  readonly amount: bigint;
}

export interface ActionKind<Source extends Named = Named, Content extends Named = Named> {
  /** As the API takes it; amounts in whole tokens. */
  readonly schema: ZodObject;
  /** What its amount is taken for, or `null` when it moves nothing. */
  readonly usage: Usage | null;
  /** @throws `ERR_INVALID_REQUEST` for an amount, address or text that cannot stand on chain. */
  content(source: Source, decimals: number): Content;
  /** Why it should not be done though the chain would do it; no full stop. */
  warning(content: Content, mint: Address): string | undefined;
  /** The wallets whose token accounts it opens where they have none. */
  recipients(content: Content): readonly Address[];
  instructions(content: Content, token: VaultToken): readonly Instruction[];
  /** What these change; what leaves an account and arrives in none is burned. */
  changes(content: Content, token: VaultToken): readonly TokenEffect[];
  readonly kinds: readonly InstructionKind[];
  /**
   * The inverse of {@link instructions}: the action that begins with the first of these instructions; a reason, when it begins
   * like one and is none; `undefined` when it is another's.
   */
  read(instructions: readonly AnyInstruction[], vault: Address): ReadBack<Content> | string | undefined;
  /** For people, without what could move a cursor: safe text is made where it is printed. */
  text(content: InText<Content>): string;
}
