/** The transaction by which a bundle pays who keeps it together: the last of the bundle, and none of its work. */
import type { Tip } from '../../chain/fees.js';
import { memo } from '../../chain/memo.js';
import { transfer } from '../../chain/system.js';
import { compileLegacyMessage } from '../../chain/transaction/compile.js';
import type { Address } from '../../values/address.js';
import { viewOf } from '../../values/bytes.js';

const AMOUNT_BYTES = 8;

/** Two tips of the same amount under the same blockhash would be the same bytes: the name of the bundle keeps them apart. */
export const tipMessage = (
  payer: Address,
  { account, lamports }: Tip,
  bundle: string,
  blockhash: string,
): Uint8Array =>
  compileLegacyMessage({
    payer,
    instructions: [memo(`bundle ${bundle}`, []), transfer({ from: payer, to: account, lamports })],
    blockhash,
  });

/** What a signed tip pays beside its fee: its bytes end with the amount. */
export const tipLamports = (bytes: Uint8Array): bigint =>
  viewOf(bytes).getBigUint64(bytes.length - AMOUNT_BYTES, true);
