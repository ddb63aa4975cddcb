/**
 * The operations of a user, each from before its first request until its outcome has been printed: what is asked for, under which
 * key, how far it is, and what came of it. What was promised once is looked up here before anything is sent.
 */
import type { Sha256 } from '../../values/digest.js';
import type { SqliteEntry } from './sqlite-entry.js';

export type { SqliteEntry as Entry } from './sqlite-entry.js';
export type { SqliteJournal as Journal } from './sqlite-journal.js';

/** What an operation does; `batch` is one batch from its init to its end, whichever commands take it there. */
export type OperationKind = 'burn' | 'burn-batch' | 'batch';

/**
 * How far an operation is.
 * - `open`: begun, and its outcome is not known.
 * - `waiting`: a batch is set up and waits for its owner.
 * - `done`, `partial`: all or a part of it landed, and no more will under its keys.
 * - `cancelled`: its batch was cancelled before anything landed.
 */
export type OperationState = 'open' | 'waiting' | 'done' | 'partial' | 'cancelled';

/** Has it its verdict? */
export const isOver = (state: OperationState): boolean => state !== 'open' && state !== 'waiting';

/**
 * Where operations go. Two are one where their flywheel is one, or, where that is not known of both, their address. Neither API
 * keys nor profiles are part of it, so that changing them changes nothing.
 */
export interface Target {
  /** `embedded:` and the ledger's id, or the address of an API. */
  readonly address: string;
  /** Its multisig and mint; `null` where they are not known. */
  readonly flywheel: string | null;
}

/** Tells processes apart. */
export interface Processes {
  /** A name of this process that no other bears, then or later. */
  self(): string;
  isRunning(name: string): boolean;
}

/** Where the key of an operation comes from. */
export type KeyOrigin =
  /** From what is asked for: the same content is the same operation. */
  | { readonly from: 'content' }
  /** Made now: each call is an operation of its own, unless an earlier one of the same content has not been printed. */
  | { readonly from: 'chance' }
  /** From the user. */
  | { readonly from: 'user'; readonly key: string };

/** One of the burns or pipelines that an operation is made of. */
export interface Element {
  /** Of all that it says; the second of two equal ones has another. */
  readonly digest: Sha256;
  /** The same, for each of several equal ones. */
  readonly content: Sha256;
  /** Of what it is about: its kinds of actions, type and proof, whatever the amounts and recipients. */
  readonly subject: Sha256;
}

export interface OperationRequest {
  readonly kind: OperationKind;
  /** Tells one content from another. */
  readonly content: Sha256;
  readonly origin: KeyOrigin;
  /** All that carrying on needs beside the key, as JSON text; it may be large and is let go of at the end. */
  readonly body: () => string;
  /** What is noted from the beginning. @param taken - numbers of the elements that it takes; `null`: all. */
  readonly notes: (taken: readonly number[] | null) => Notes;
  /** The words of the command, to show to people. */
  readonly command: readonly string[];
  /** What it is made of; while it is open, and once they have landed, no other operation takes them by mistake. */
  readonly elements: readonly Element[];
  /** Numbers of those that it takes; `null`: all. */
  readonly taken: readonly number[] | null;
  /** Do once more what is over and done, and elements that have landed. */
  readonly again: boolean;
  /** Take elements also where others about the same have landed with another amount or recipient. */
  readonly allowChanged: boolean;
  /** Its service knows it by its key: it is gone on with, whatever of it has landed. */
  readonly isKnown?: boolean;
  /** Of what is done once more: how often its service had landed each element before; absent where it does not say. */
  readonly before?: readonly number[];
}

/** What an operation notes on its way; small. */
export type Notes = Readonly<Record<string, unknown>>;

/** How an operation ended, which of its elements have landed by it, and answers that are stored along with that. */
export interface Verdict {
  readonly state: Exclude<OperationState, 'open'>;
  /** Those that have landed. */
  readonly landed: readonly Sha256[];
  /** What has not landed may do so yet, by other hands. */
  readonly mayLand?: boolean;
  readonly answers?: Readonly<Record<string, unknown>>;
}

/** What a list says of an operation. */
export interface OperationSummary {
  /** Eight characters by which people call it. */
  readonly id: string;
  readonly kind: OperationKind;
  readonly key: string;
  readonly state: OperationState;
  /** Its outcome is known and has been printed. */
  readonly printed: boolean;
  /** A living process works on it. */
  readonly busy: boolean;
  readonly command: readonly string[];
  readonly dateBegun: string;
  readonly dateChanged: string;
  readonly notes: Notes;
}

/** What came of asking for an operation. */
export type Begun =
  | { readonly status: 'taken'; readonly entry: SqliteEntry }
  /** `again` was asked for, and the last one is not over. */
  | { readonly status: 'unfinished'; readonly entry: OperationSummary }
  | InTheWay;

/** Why nothing was begun. */
export type InTheWay =
  /** Another process is at it. */
  | { readonly status: 'busy'; readonly process: string; readonly since: string }
  /** Elements of it are in other operations; and of the others, those that have changed. */
  | {
      readonly status: 'overlap';
      readonly overlaps: readonly Overlap[];
      readonly changes: readonly ChangedElement[];
    }
  /** Elements that have landed from another file are no longer in this one, which has others about the same. */
  | { readonly status: 'changed'; readonly changes: readonly ChangedElement[] };

/** An element in whose place another one has landed. */
export interface ChangedElement {
  /** Its number. */
  readonly index: number;
  /** When the other one landed. */
  readonly date: string;
}

/** An element that is in another operation. */
export interface Overlap {
  readonly digest: Sha256;
  /** It has landed; else it may land yet. */
  readonly hasLanded: boolean;
  /** When that operation last changed. */
  readonly date: string;
  readonly operation: Pick<OperationSummary, 'id' | 'kind' | 'state' | 'command' | 'notes'>;
}
