/** Calls JSON-RPC methods of a node without a library. */
import type { SignatureStatus } from '@solana/web3.js';

export interface RpcAnswer {
  readonly result?: never;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export async function rpcAnswer(
  url: string,
  method: string,
  ...params: readonly unknown[]
): Promise<RpcAnswer> {
  const response = await rpcPost(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  return (await response.json()) as RpcAnswer;
}

/** @throws with the code of a JSON-RPC error. */
export async function rpcResult<Result>(
  url: string,
  method: string,
  ...params: readonly unknown[]
): Promise<Result> {
  const { error, result } = await rpcAnswer(url, method, ...params);
  if (error !== undefined) throw new TypeError(`${method}: ${error.code} ${error.message}`);
  return result as Result;
}

export const rpcPost = (url: string, body: string, signal: AbortSignal | null = null): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });

export async function statusOf(url: string, signature: string): Promise<SignatureStatus | null> {
  const asked = [[signature], { searchTransactionHistory: true }];
  const found = await rpcResult<{ value: (SignatureStatus | null)[] }>(url, 'getSignatureStatuses', ...asked);
  return found.value[0] ?? null;
}
