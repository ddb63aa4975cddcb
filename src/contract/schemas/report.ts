/** Wire shapes of the report: what was burned and airdropped, and what it cost. */
import * as z from 'zod';
import { timeBoundSchema } from './page.js';

/** What the rows of a report are about; without a period they are about all the time that was asked for. */
export const REPORT_PERIODS = ['day', 'week', 'month', 'all'] as const;
export type ReportPeriod = (typeof REPORT_PERIODS)[number];

/** Rows of one report at most. */
export const MAX_REPORT_ROWS = 5_000;

export const reportQuerySchema = z.strictObject({
  period: z
    .enum(REPORT_PERIODS)
    .optional()
    .meta({ description: 'One row per period. Weeks are ISO 8601, times are UTC. Default: `day`.' }),
  byType: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: '`true`: one row per period and proof type.' }),
  since: timeBoundSchema.meta({ description: 'Finished at this time or later.' }),
  until: timeBoundSchema.meta({ description: 'Finished before this time.' }),
});
export type ReportQuery = z.infer<typeof reportQuerySchema>;

const tokens = z.string().meta({ description: 'Tokens, exact, as decimal text.', examples: ['1250.5'] });
const lamports = z.string().meta({ description: 'Lamports, as digits.', examples: ['5000'] });
const count = z.number().int();

/** Sums over operations that came to their end. */
const sums = {
  burned: tokens,
  airdropped: tokens,
  burns: count.meta({ description: 'Burns that landed.' }),
  failedBurns: count.meta({ description: 'Burns that failed.' }),
  pipelines: count.meta({ description: 'Pipelines that were executed.' }),
  failedPipelines: count.meta({
    description: 'Pipelines whose batch failed before them. Cancelled pipelines are not counted.',
  }),
  feeLamports: lamports.meta({ description: 'Fees of burns and batches, in lamports.' }),
  rentPaidLamports: lamports.meta({ description: 'Rent of batches, paid by the operator.' }),
  rentReclaimedLamports: lamports.meta({ description: 'Rent that came back to operator or vault.' }),
  vaultRentLamports: lamports.meta({
    description: 'Rent that the vault paid for token accounts of recipients; it does not come back.',
  }),
  costLamports: lamports.meta({
    description: 'Total: fees and rent paid, minus what came back.',
  }),
};

export const reportSumsSchema = z.object(sums).meta({ id: 'ReportSums' });
export type ReportSums = z.infer<typeof reportSumsSchema>;

export const reportRowSchema = z
  .object({
    period: z
      .string()
      .nullable()
      .meta({ description: '`2026-01-31`, `2026-W05` or `2026-01`; null for all the time.' }),
    type: z.string().nullable().meta({
      description: 'Proof type. null for all types, and for costs of a whole batch.',
    }),
    ...sums,
  })
  .meta({ id: 'ReportRow' });
export type ReportRow = z.infer<typeof reportRowSchema>;

export const reportSchema = z
  .object({
    symbol: z.string().meta({ description: 'Symbol of the token.' }),
    mintAddress: z.string().meta({ description: 'Mint of the token, base58.' }),
    decimals: count.meta({ description: 'Decimals of the token.' }),
    supply: tokens.meta({ description: 'Current supply of the token.' }),
    chargesTransferFee: z.boolean().meta({
      description: 'The token charges a fee on each transfer: recipients receive less than `airdropped`.',
    }),
    since: z.string().nullable().meta({ description: 'As requested; null without a limit.' }),
    until: z.string().nullable().meta({ description: 'As requested; null without a limit.' }),
    pendingBurns: count.meta({
      description: 'Burns without a known outcome, not included in any total.',
    }),
    rows: z.array(reportRowSchema).meta({ description: 'Oldest period first. Empty periods are left out.' }),
    total: reportSumsSchema,
  })
  .meta({ id: 'Report' });
export type Report = z.infer<typeof reportSchema>;
