/** An RPC node on loopback with scripted results and faults. */
import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { onLoopback } from './loopback.js';

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly id: unknown;
}

/** Handles a request in place of an answer; `undefined` answers correctly. */
export type Fault = (response: ServerResponse, call: RpcCall) => void | Promise<void>;

export type Methods = Readonly<Record<string, (...params: readonly never[]) => unknown>>;

export type StubNode = Awaited<ReturnType<typeof stubNode>>;

const send = (response: ServerResponse, status: number, body: unknown, headers: object = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

export const status =
  (code: number, headers: object = {}, body = 'no'): Fault =>
  (response) => {
    response.writeHead(code, { 'content-type': 'text/plain', ...headers }).end(body);
  };

export const stated =
  (code: number, message = 'no', data: unknown = undefined, http = 200): Fault =>
  (response, { id }) =>
    send(response, http, { jsonrpc: '2.0', id, error: { code, message, data } });

export const says =
  (body: string, type = 'application/json'): Fault =>
  (response) => {
    response.writeHead(200, { 'content-type': type }).end(body);
  };

export const result =
  (value: unknown): Fault =>
  (response, { id }) =>
    send(response, 200, { jsonrpc: '2.0', id, result: value });

export const passOn =
  (url: string, change: (answer: never, call: RpcCall) => unknown = (answer) => answer): Fault =>
  async (response, call) => {
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const answer = await fetch(url, { ...sent, body: JSON.stringify({ jsonrpc: '2.0', ...call }) });
    const text = await answer.text();
    const told = change(JSON.parse(text) as never, call);
    // What is left as it is keeps numbers that a double does not hold.
    if (isDeepStrictEqual(told, JSON.parse(text))) says(text)(response, call);
    else send(response, answer.status, told);
  };

export const silence: Fault = () => undefined;

export const hangUp: Fault = (response) => void response.destroy();

export const endless: Fault = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const chunk = 'x'.repeat(65_536);
  const pour = (): void => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once('drain', pour);
  };
  response.write('{"jsonrpc":"2.0","id":1,"result":"');
  pour();
};

export const inContext = (value: unknown, slot = 9) => ({ context: { slot }, value });

export const wireAccount = (data: ArrayLike<number>, owner: string, lamports = 1, more: object = {}) => ({
  lamports,
  owner,
  data: [Buffer.from(data).toString('base64'), 'base64'],
  executable: false,
  rentEpoch: 2 ** 64,
  space: data.length,
  ...more,
});

export const MAINNET = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
export const DEVNET = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';

const KEPT: Methods = { getGenesisHash: () => MAINNET };

/** Answer to `getEpochInfo` of a node without a finalized block. */
export const BEGINNING = { absoluteSlot: 0, blockHeight: 0, epoch: 0, slotIndex: 0, slotsInEpoch: 432_000 };

const closings: (() => Promise<void>)[] = [];

export async function closeStubs(): Promise<void> {
  await Promise.all(closings.splice(0).map((close) => close()));
}

/** A node whose faults and counted calls are those of other questions than the one for its finalized state. */
export const youngNode = async (methods: Methods = {}): Promise<StubNode> =>
  Object.assign(await stubNode(methods), { isYoung: true });

/** A node that knows these methods and its genesis hash. */
export async function stubNode(methods: Methods = {}, path = '/secret-key') {
  const calls: RpcCall[] = [];
  /** Of the next requests, one each; correct answers follow. */
  const faults: (Fault | undefined)[] = [];
  const stub = {
    ...{ calls, faults, methods, always: undefined as Fault | undefined },
    /** Whether `getEpochInfo` is answered at once, without a fault and uncounted. */
    isYoung: false,
  };
  const server = createServer(async (request, response) => {
    const call = (await json(request)) as RpcCall;
    if (stub.isYoung && call.method === 'getEpochInfo') return result(BEGINNING)(response, call);
    calls.push(call);
    const fault = faults.length > 0 ? faults.shift() : stub.always;
    if (fault !== undefined) return fault(response, call);
    const known = { ...KEPT, ...stub.methods }[call.method] as ((...all: unknown[]) => unknown) | undefined;
    if (known === undefined) return stated(-32_601, 'Method not found')(response, call);
    return result(await known(...call.params))(response, call);
  });
  const { url, close } = await onLoopback(server);
  closings.push(close);
  return Object.assign(stub, { url: url + path, close });
}
