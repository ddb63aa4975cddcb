/** Wire shapes of the history: every burn and every airdrop that landed, alone or in a batch. */
import * as z from 'zod';
import {
  addressSchema,
  dateTimeSchema,
  hashesSchema,
  hashSchema,
  proofTypeSchema,
  txHashSchema,
  uuidSchema,
} from '../../values/schemas.js';
import { cursorSchema, nextCursorSchema, pageLimitSchema, timeBoundSchema } from './page.js';

export const MOVES = ['BURN', 'AIRDROP'] as const;

export const historyQuerySchema = z.strictObject({
  action: z.enum(MOVES, `expected ${MOVES.join(' or ')}`).optional(),
  type: proofTypeSchema.optional().meta({ description: 'Proof type.' }),
  proofHash: hashesSchema.optional(),
  toAddress: addressSchema.optional().meta({ description: 'Only airdrops to this wallet.' }),
  txHash: txHashSchema.optional(),
  batchId: z.string('expected a UUID').optional().meta({ description: 'Only of this batch.' }),
  since: timeBoundSchema.meta({ description: 'Landed at this time or later.' }),
  until: timeBoundSchema.meta({ description: 'Landed before this time.' }),
  limit: pageLimitSchema,
  cursor: cursorSchema,
});
export type HistoryQuery = z.infer<typeof historyQuerySchema>;

export const historyItemSchema = z
  .object({
    action: z.enum(MOVES),
    date: dateTimeSchema.meta({ description: 'Time of the transaction.' }),
    amount: z.string().meta({ description: 'Tokens, exact, as decimal text.', examples: ['12.5'] }),
    toAddress: addressSchema.optional().meta({ description: 'Recipient of the airdrop.' }),
    type: proofTypeSchema,
    hash: hashSchema,
    txHash: txHashSchema.optional().meta({
      description:
        'Absent if members of the multisig sent it with other tools, and the chain no longer tells which.',
    }),
    batchId: uuidSchema
      .optional()
      .meta({ description: 'Batch of the burn or airdrop; absent for a single burn.' }),
  })
  .meta({ id: 'HistoryItem' });
export type HistoryItem = z.infer<typeof historyItemSchema>;

export const historyPageSchema = z
  .object({
    items: z.array(historyItemSchema).meta({ description: 'Burns and airdrops, newest first.' }),
    nextCursor: nextCursorSchema,
  })
  .meta({ id: 'HistoryPage' });
export type HistoryPage = z.infer<typeof historyPageSchema>;
