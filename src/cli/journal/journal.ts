/** The journal: every operation of a user, from before its first request until its outcome is printed. */
import type { Sha256 } from '../../values/digest.js';
import type { SqliteEntry } from './sqlite-entry.js';

export type { SqliteEntry as Entry } from './sqlite-entry.js';
export type { SqliteJournal as Journal } from './sqlite-journal.js';

/** `batch`: a file of pipelines from `init` to its end, whichever commands it takes. */
export type OperationKind = 'burn' | 'burn-batch' | 'batch';

/**
 * Progress of an operation.
 * - `open`: started, with an unknown outcome.
 * - `waiting`: a batch is set up and waits for its owner.
 * - `done`, `partial`: all or a part of it landed, and no more will under its keys.
 * - `cancelled`: its batch was cancelled before anything landed.
 */
type OperationState = 'open' | 'waiting' | 'done' | 'partial' | 'cancelled';

export const isOver = (state: OperationState): boolean => state !== 'open' && state !== 'waiting';

export const hasRest = (state: OperationState): boolean => state === 'partial' || state === 'cancelled';

export type KeyOrigin =
  /** Derived: the same content is the same operation. */
  | { readonly from: 'content' }
  /** Random: each call is a new operation, unless an earlier one with the same content is not printed. */
  | { readonly from: 'chance' }
  | { readonly from: 'user'; readonly key: string };

export interface Element {
  /** Unique: equal elements are numbered. */
  readonly digest: Sha256;
  /** The same for equal elements. */
  readonly content: Sha256;
  /** Covers type and proof; not amounts and recipients. */
  readonly subject: Sha256;
  /** In bits. Elements of one subject that share a kind pay for the same. */
  readonly kinds: number;
}

export interface OperationRequest {
  readonly kind: OperationKind;
  readonly content: Sha256;
  readonly origin: KeyOrigin;
  /** What resuming needs beside the key, as JSON text. It may be large and is dropped at the end. */
  readonly body: () => string;
  /** @param taken - indexes of its elements; `null`: all. */
  readonly notes: (taken: readonly number[] | null) => Notes;
  readonly command: readonly string[];
  /** While the operation is open, and once they have landed, no other operation sends these elements by mistake. */
  readonly elements: readonly Element[];
  readonly taken: readonly number[] | null;
  /** Repeats a finished operation, and elements that landed. */
  readonly again: boolean;
  /** Also takes elements that landed with another amount or recipient. */
  readonly allowChanged: boolean;
  /** The service knows its key, so it continues whatever landed. */
  readonly isKnown?: boolean;
  /** With `again`: how often the service had landed each element before; absent if unknown. */
  readonly before?: readonly number[];
}

/** A burn without `--once`. */
export const isAlwaysNew = ({ kind, origin }: Pick<OperationRequest, 'kind' | 'origin'>): boolean =>
  kind === 'burn' && origin.from !== 'content';

export type Notes = Readonly<Record<string, unknown>>;

/** The end of an operation, with answers to store. */
export interface Verdict {
  readonly state: Exclude<OperationState, 'open'>;
  readonly landed: readonly Sha256[];
  /** The rest may still land, for example by a member of the multisig. */
  readonly mayLand?: boolean;
  readonly answers?: Readonly<Record<string, unknown>>;
}

export interface OperationSummary {
  /** Eight characters, shown to users. */
  readonly id: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly state: OperationState;
  readonly printed: boolean;
  readonly busy: boolean;
  readonly command: readonly string[];
  readonly dateBegun: string;
  readonly dateChanged: string;
  readonly notes: Notes;
  readonly serial: number;
  /** `elsewhere`: of elements that others landed. */
  readonly origin: KeyOrigin['from'] | 'elsewhere';
  readonly content: Sha256;
  readonly holder: string | null;
  readonly resumed: boolean;
}

export type Begun =
  | { readonly status: 'taken'; readonly entry: SqliteEntry }
  /** For `again`: the last operation is not over. */
  | { readonly status: 'unfinished'; readonly entry: SqliteEntry }
  | { readonly status: 'busy'; readonly process: string }
  | ({ readonly status: 'refused' } & Refused);

export interface Refused {
  /** Other operations have these elements. */
  readonly overlaps: readonly Overlap[];
  /** The others that landed from another file with another amount or recipient. */
  readonly changes: readonly { readonly index: number; readonly date: string }[];
}

export interface Overlap {
  readonly digest: Sha256;
  /** False: it may still land. */
  readonly hasLanded: boolean;
  readonly date: string;
  readonly operation: Pick<OperationSummary, 'id' | 'kind' | 'state' | 'printed' | 'command' | 'notes'>;
}
