/** The error body of every failed request (service specification, section 2.4). */
import * as z from 'zod';

export const problemSchema = z
  .object({
    error: z.union([z.string(), z.number()]).meta({
      description: 'Error code. This service always sends text; other services may send a number.',
    }),
    message: z.string().meta({ description: 'Human-readable reason.' }),
  })
  .meta({ id: 'Problem' });
