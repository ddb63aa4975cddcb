/** An encrypted keypair made by hand, as the documentation says, and so cheap to open as is allowed. */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';

const FORMAT = 'flywheel-encrypted-keypair';
const CIPHER = 'aes-256-gcm';
/** New files take eight times as much. */
const COST = { n: 2 ** 14, r: 8, p: 1 };

interface Kdf {
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
}

const keyOf = (passphrase: string, { n, r, p, salt }: Kdf): Buffer =>
  scryptSync(passphrase, Buffer.from(salt, 'base64'), 32, { N: n, r, p, maxmem: 2 ** 28 });

const sealed = (address: string, { n, r, p, salt }: Kdf, nonce: string): Buffer =>
  Buffer.from(JSON.stringify([FORMAT, 1, address, 'scrypt', n, r, p, salt, CIPHER, nonce]));

/** The text of a file. */
export function sealKeypair(keypair: Uint8Array, address: string, passphrase: string): string {
  const kdf = { ...COST, salt: randomBytes(32).toString('base64') };
  const nonce = randomBytes(12);
  const cipher = createCipheriv(CIPHER, keyOf(passphrase, kdf), nonce);
  cipher.setAAD(sealed(address, kdf, nonce.toString('base64')));
  const ciphertext = Buffer.concat([cipher.update(keypair), cipher.final()]);
  const parts = { nonce, tag: cipher.getAuthTag(), ciphertext };
  const texts = Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [name, part.toString('base64')]),
  );
  return JSON.stringify({
    ...{ format: FORMAT, version: 1, address },
    ...{ kdf: { name: 'scrypt', ...kdf }, cipher: { name: CIPHER, ...texts } },
  });
}

/** What is in a file. */
export function openKeypair(text: string, passphrase: string): Buffer {
  const { address, kdf, cipher } = JSON.parse(text) as {
    address: string;
    kdf: Kdf;
    cipher: Readonly<Record<'nonce' | 'tag' | 'ciphertext', string>>;
  };
  const bytes = (part: string): Buffer => Buffer.from(part, 'base64');
  const decipher = createDecipheriv(CIPHER, keyOf(passphrase, kdf), bytes(cipher.nonce));
  decipher.setAAD(sealed(address, kdf, cipher.nonce)).setAuthTag(bytes(cipher.tag));
  return Buffer.concat([decipher.update(bytes(cipher.ciphertext)), decipher.final()]);
}
