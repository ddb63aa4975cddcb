/** What the store knows of the chain's own record: which signatures are its own, and what has landed that it has no record of. */
import type { GapRecord, LostTransaction } from './records.js';

/** Every signature that the store has ever written down before it was sent, and those of gaps. */
export interface SignatureRepository {
  isKnown(signature: string): Promise<boolean>;
  /** Which of them are. */
  known(signatures: readonly string[]): Promise<ReadonlySet<string>>;
}

/** The line of history on which the store was written last. */
export interface Lineage {
  readonly lineage: string;
  /** Height of the block with which all has expired that was sent on the line before; `null` once it has. */
  readonly heldUntil: bigint | null;
}

/** On which line of history the store is written. */
export interface LineageRepository {
  current(): Promise<Lineage>;
  set(lineage: Lineage): Promise<void>;
}

/** What the chain knows of a project and the store does not. */
export interface GapRepository {
  /** The one that is open; there is one at most. */
  open(tokenId: string): Promise<GapRecord | undefined>;
  allOpen(): Promise<readonly GapRecord[]>;
  /** Opens a gap, or adds to the one that is open. @param lost - at least one, in the order in which they landed. */
  add(
    gap: { readonly id: string; readonly tokenId: string; readonly dateFound: string },
    lost: readonly LostTransaction[],
  ): Promise<void>;
  /** In the order in which they landed. */
  transactions(id: string): Promise<readonly LostTransaction[]>;
  /** Nothing waits for it any more. */
  accept(id: string, dateAccepted: string): Promise<void>;
  /** Up to which transaction of an account all was looked at. */
  mark(account: string): Promise<string | undefined>;
  setMark(tokenId: string, account: string, signature: string): Promise<void>;
}
