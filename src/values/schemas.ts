/** The scalars of the contract: valid ids, addresses, amounts and times on the wire. */
import * as z from 'zod';
import { isAddress } from './address.js';
import { InexactNumber } from './exact-number.js';
import { isUuid } from './ids.js';
import { MAX_HASHES_ASKED, MAX_PROOF_TYPE_LENGTH, SCOPES } from './key-terms.js';

export const uuidSchema = z
  .string('expected a UUID')
  .refine(isUuid, 'expected a UUID')
  .meta({
    ...{ description: 'UUID.', format: 'uuid', maxLength: 36 },
    examples: ['5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11'],
  });

export const addressSchema = z
  .string('expected a base58 address of 32 bytes')
  .refine(isAddress, {
    error: ({ input }) =>
      `expected a base58 address of 32 bytes, got ${JSON.stringify(String(input).slice(0, 60))}`,
  })
  .meta({
    ...{ description: 'Solana address, base58.', minLength: 32, maxLength: 44 },
    examples: ['FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF'],
  });

/** An amount in whole tokens as a JSON number. The engine knows the mint and refuses excess decimals. */
export const amountSchema = z
  .number({
    error: ({ input }) =>
      input instanceof InexactNumber
        ? `${input.text.slice(0, 40)} would be rounded as a JSON number`
        : 'expected a positive number',
  })
  .positive('expected a positive number')
  .meta({
    description: 'Amount in whole tokens, positive, at most as many decimals as the mint has.',
    format: 'double',
    examples: [12.5],
  });

export const dateTimeSchema = z.string().meta({
  description: 'ISO 8601 date-time in UTC.',
  format: 'date-time',
  examples: ['2026-01-31T12:00:00.000Z'],
});

export const base64Schema = z
  .base64('expected base64')
  .min(1, 'expected base64')
  // 1,232 bytes, the maximum of a transaction.
  .meta({ description: 'Bytes in base64.', maxLength: 1_644, examples: ['AgAAAAAAAAAA'] });

export const hashSchema = z.string().meta({
  description: 'SHA-256, lowercase hex.',
  examples: ['b7f943845357ffafd382804e7addbb1b54731b404ff26afec243f4a74fde4256'],
});

const HASHES = new RegExp(`^[0-9a-f]{64}(?:,[0-9a-f]{64}){0,${MAX_HASHES_ASKED - 1}}$`);

export const hashesSchema = z
  .string()
  .regex(HASHES, `expected 1 to ${MAX_HASHES_ASKED} SHA-256 hashes of 64 hex digits, separated by commas`)
  .meta({
    description: `SHA-256, lowercase hex; up to ${MAX_HASHES_ASKED}, separated by commas.`,
  });

export const txHashSchema = z.string().meta({
  description: 'Transaction signature, base58.',
  examples: ['5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'],
});

export const proofTypeSchema = z
  .string('expected text')
  .min(1, 'expected a proof type')
  .max(MAX_PROOF_TYPE_LENGTH, `a proof type has at most ${MAX_PROOF_TYPE_LENGTH} characters`)
  .meta({
    description: 'Proof type identifier; allowed values are defined per project and per API key.',
    examples: ['PRODUCT_BUY'],
  });

export const scopeSchema = z.enum(SCOPES);
