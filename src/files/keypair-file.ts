/** Keypair files of the Solana CLI: a JSON array of bytes. Base58 is read as well. */
import { base58Decode } from '../values/bytes.js';

export const keypairText = (keypair: Uint8Array): string => `${JSON.stringify([...keypair])}\n`;

/** `bytes` may have any length. `problem` quotes nothing of the text. */
type ParsedKeypair = { readonly bytes: Uint8Array } | { readonly problem: string };

export function parseKeypairText(text: string): ParsedKeypair {
  const trimmed = text.trim();
  if (trimmed === '') return { problem: 'it is empty' };
  if (!trimmed.startsWith('[')) {
    const bytes = base58Decode(trimmed);
    return bytes === undefined ? { problem: 'it is neither a JSON array of bytes nor base58' } : { bytes };
  }
  let list: unknown;
  try {
    list = JSON.parse(trimmed);
  } catch {
    return { problem: 'its JSON array is not complete' };
  }
  const isByte = (byte: unknown): boolean =>
    Number.isInteger(byte) && Number(byte) >= 0 && Number(byte) <= 255;
  if (!Array.isArray(list) || !list.every(isByte)) return { problem: 'it is not a JSON array of bytes' };
  return { bytes: Uint8Array.from(list) };
}
