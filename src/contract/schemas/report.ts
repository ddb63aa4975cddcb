/** Wire shapes of errors, keys, history and the report. */
import * as z from 'zod';
import * as scalar from '../../values/schemas.js';
import { MOVES, REPORT_PERIODS } from '../limits.js';
import { batchIdSchema, count, pageOf, pageQuery, text, textOrNull, timeBounds } from './page.js';

export const problemSchema = z
  .object({
    error: z.union([z.string(), z.number()]).meta({
      description: 'Error code. This service always sends text; other services may send a number.',
    }),
    message: text('Human-readable reason.', 'The API key is missing or invalid.'),
  })
  .meta({ id: 'Problem' });

export const keySchema = z
  .object({
    id: text('Id of the key. Not a secret.', '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11'),
    name: textOrNull('Name of the key, if it has one.', 'shop server'),
    scopes: z.array(scalar.scopeSchema).meta({ description: 'Scopes of the key.' }),
    proofTypes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Proof types that the key may use; null for all.', examples: [null] }),
    tokenId: text("Id of the key's token.", '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11'),
    symbol: text('Symbol of the token.', 'FLY'),
    mintAddress: text('Mint of the token, base58.', 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF'),
    multisig: textOrNull('Multisig of the project, base58.', 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF'),
    decimals: count('Decimals of the token.', 6),
  })
  .meta({ id: 'Key' });

export const historyQuerySchema = z.strictObject({
  action: z.enum(MOVES, `expected ${MOVES.join(' or ')}`).optional(),
  type: scalar.proofTypeSchema.optional().meta({ description: 'Proof type.' }),
  proofHash: scalar.hashesSchema.optional(),
  toAddress: scalar.addressSchema.optional().meta({ description: 'Only airdrops to this wallet.' }),
  txHash: scalar.txHashSchema.optional(),
  batchId: batchIdSchema.optional().meta({ description: 'Only of this batch.' }),
  ...timeBounds('Landed'),
  ...pageQuery,
});

export const historyItemSchema = z
  .object({
    action: z.enum(MOVES),
    date: scalar.dateTimeSchema.meta({ description: 'Time of the transaction.' }),
    amount: text('Tokens, exact, as decimal text.', '12.5'),
    toAddress: scalar.addressSchema.optional().meta({ description: 'Recipient of the airdrop.' }),
    type: scalar.proofTypeSchema,
    hash: scalar.hashSchema,
    txHash: scalar.txHashSchema.optional().meta({
      description:
        'Absent if members of the multisig sent the transaction with other tools and the chain no longer has it.',
    }),
    batchId: scalar.uuidSchema
      .optional()
      .meta({ description: 'Batch of the burn or airdrop; absent for a single burn.' }),
  })
  .meta({ id: 'HistoryItem' });
export type HistoryItem = z.infer<typeof historyItemSchema>;

export const historyPageSchema = pageOf(
  'HistoryPage',
  historyItemSchema,
  'Burns and airdrops, newest first.',
);

export const reportQuerySchema = z.strictObject({
  period: z
    .enum(REPORT_PERIODS)
    .optional()
    .meta({ description: 'One row per period. Weeks are ISO 8601, times are UTC. Default: `day`.' }),
  byType: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: '`true`: one row per period and proof type.' }),
  ...timeBounds('Finished'),
});

const tokens = text('Tokens, exact, as decimal text.', '1250.5');
const lamports = text('Lamports, as digits.', '5000');

const sums = {
  burned: tokens,
  airdropped: tokens,
  burns: count('Burns that landed.'),
  failedBurns: count('Burns that failed.'),
  pipelines: count('Pipelines that were executed.'),
  failedPipelines: count('Pipelines whose batch failed before them. Cancelled pipelines are not counted.'),
  burnWalletLamports: lamports.meta({ description: 'Paid by the burn wallet for burns.' }),
  operatorLamports: lamports.meta({ description: 'Paid by the operator for batches, less what came back.' }),
  vaultLamports: lamports.meta({ description: 'Paid by the vault for batches, less what came back.' }),
  costLamports: text('Sum of the three.', '15000'),
};

const reportSumsSchema = z.object(sums).meta({ id: 'ReportSums' });

export const reportRowSchema = z
  .object({
    period: textOrNull('`2026-01-31`, `2026-W05` or `2026-01`; null for all the time.', '2026-01-31'),
    type: textOrNull('Proof type. null for all types, and for costs of a whole batch.'),
    ...sums,
  })
  .meta({ id: 'ReportRow' });
export type ReportRow = z.infer<typeof reportRowSchema>;

export const reportSchema = z
  .object({
    symbol: text('Symbol of the token.', 'FLY'),
    mintAddress: text('Mint of the token, base58.', 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF'),
    decimals: count('Decimals of the token.', 6),
    supply: tokens.meta({ description: 'Current supply of the token.' }),
    chargesTransferFee: z.boolean().meta({
      description: 'The token charges a fee on each transfer: recipients receive less than `airdropped`.',
    }),
    since: textOrNull('As requested, or null.'),
    until: textOrNull('As requested, or null.'),
    pendingBurns: count('Burns without a known outcome, not included in any total.'),
    rows: z.array(reportRowSchema).meta({ description: 'Oldest period first. Empty periods are left out.' }),
    total: reportSumsSchema,
  })
  .meta({ id: 'Report' });
export type Report = z.infer<typeof reportSchema>;
