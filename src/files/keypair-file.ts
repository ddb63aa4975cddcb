/** A keypair as the Solana CLI keeps it in a file: a JSON array of its bytes; base58 is read as well. */
import { base58Decode } from '../values/base58.js';

export const keypairText = (keypair: Uint8Array): string => `${JSON.stringify([...keypair])}\n`;

/** The bytes that a text holds, of whatever number, or why it holds none; the reason quotes nothing of it. */
type ParsedKeypair = { readonly bytes: Uint8Array } | { readonly problem: string };

/** Reads the text of a keypair file. */
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
