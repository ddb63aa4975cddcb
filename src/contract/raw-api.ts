/** Requests that are put together by hand: what is sent and what came back, as it is, and which operation they are of. */

import type { Secret } from '../values/secret.js';
import { OPERATION_LIST, type Operation } from './operations.js';

/** A request. */
export interface RawRequest {
  readonly method: 'GET' | 'POST';
  /** Below the base address, with its query. */
  readonly path: string;
  /** Beside those that every request has. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** An answer; in none of its texts is the API key. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** What goes along with a request. */
export interface RawCall {
  readonly credential: Secret | null;
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string;
  /** Hears every answer, also those that are then asked for once more. */
  readonly onAnswer: (answer: RawAnswer) => void;
}

/** The API as it is over HTTP. */
export interface RawApi {
  /**
   * Sends a request, again where that is safe and of use, by the rules of every other request.
   * @throws the error that the answer stands for, or that there was none.
   */
  send(request: RawRequest, call: RawCall): Promise<RawAnswer>;
  close(): Promise<void>;
}

const matches = ({ method, path }: Operation, request: Pick<RawRequest, 'method' | 'path'>): boolean => {
  const pattern = path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.');
  return method === request.method && new RegExp(`^${pattern}$`).test(request.path.replace(/\?.*$/s, ''));
};

/** The operation of ours that a request is of, or `undefined`; where several are, the first is the one that is served. */
export const operationOf = (request: Pick<RawRequest, 'method' | 'path'>): Operation | undefined =>
  OPERATION_LIST.find((operation) => matches(operation, request));

/** Whether a request takes an idempotency key: a POST that the contract does not know may act as well. */
export const keyRule = (request: Pick<RawRequest, 'method' | 'path'>): Operation['idempotencyKey'] =>
  operationOf(request)?.idempotencyKey ?? (request.method === 'GET' ? 'none' : 'optional');
