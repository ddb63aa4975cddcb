/** Signed payments, for tests that need any transaction. */
import { transfer } from '../../../src/chain/small-programs.js';
import { namedSigner, type Signed, signedWith, treasury } from '../../support/chain.js';
import { type RpcAnswer, rpcAnswer, rpcResult } from '../../support/rpc-call.js';

export const payee = namedSigner('payee').address;

/** A payment to {@link payee}; distinct amounts make distinct transactions. */
export async function payment(url: string, lamports = 1_000_000n, commitment = 'processed'): Promise<Signed> {
  const { value } = await rpcResult<{ value: { blockhash: string } }>(url, 'getLatestBlockhash', {
    commitment,
  });
  return signedWith(value.blockhash, [treasury], [transfer({ from: treasury.address, to: payee, lamports })]);
}

/** Sends with `processed` preflight, as most clients do. */
export const sent = (
  url: string,
  { bytes }: Pick<Signed, 'bytes'>,
  options: object = {},
): Promise<RpcAnswer> =>
  rpcAnswer(url, 'sendTransaction', Buffer.from(bytes).toString('base64'), {
    encoding: 'base64',
    preflightCommitment: 'processed',
    ...options,
  });

export async function paid(url: string, commitment = 'processed'): Promise<number> {
  return (await rpcResult<{ value: number }>(url, 'getBalance', payee, { commitment })).value;
}
