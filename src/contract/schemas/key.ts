/** Wire shape of what a key is told of itself: which it is, and what it may do. */
import * as z from 'zod';
import { scopeSchema } from '../../values/schemas.js';

export const keySchema = z
  .object({
    id: z.string().meta({ description: 'Id of the key. Not a secret.' }),
    name: z.string().nullable().meta({ description: 'Name of the key, if it has one.' }),
    scopes: z.array(scopeSchema).meta({ description: 'Scopes of the key.' }),
    proofTypes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Proof types that the key may use; null for all.' }),
    tokenId: z.string().meta({ description: "Id of the key's token." }),
    symbol: z.string().meta({ description: 'Symbol of the token.' }),
    mintAddress: z.string().meta({ description: 'Mint of the token, base58.' }),
    multisig: z.string().nullable().meta({ description: 'Multisig of the project, base58.' }),
    decimals: z.number().int().meta({ description: 'Decimals of the token.' }),
  })
  .meta({ id: 'Key' });
/** A key without what is secret of it. */
export type KeyDescription = z.infer<typeof keySchema>;
