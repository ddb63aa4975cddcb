/** The port through which a question travels to a node: one HTTP request and what came back; who dials is decided elsewhere. */
import type { NodeAddress } from '../node-address.js';

/** Something answered. */
export interface NodeAnswer {
  readonly kind: 'answer';
  readonly status: number;
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Why the body was not read, as in "answered with …"; the text is empty then. */
  readonly unread?: string;
}

/** No answer came, or none to its end. */
export interface NodeSilence {
  readonly kind: 'failure';
  /** Begins with a small letter or a host, and has no full stop. */
  readonly reason: string;
  readonly hint?: string;
  readonly retryable: boolean;
  readonly cause: unknown;
}

/** What one exchange may take. */
export interface ExchangeTerms {
  /** From dialling to the last byte. */
  readonly timeoutMs: number;
  /** Of the body of the answer; what goes on beyond it is not kept. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** One node, and how it is reached. */
export interface RpcNode {
  readonly address: NodeAddress;
  /** Posts a JSON body. @throws `ERR_INTERRUPTED` as soon as the signal is aborted. */
  post(body: string, terms: ExchangeTerms): Promise<NodeAnswer | NodeSilence>;
}
