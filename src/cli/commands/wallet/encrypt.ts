/** `flywheel wallet encrypt`: a keypair under a passphrase, in a file of its own. */
import type { Command } from '@commander-js/extra-typings';
import { invariant } from '../../../errors/flywheel-error.js';
import { writeFileAtomic } from '../../../files/write-file.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { newFile } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<keypair>', 'the keypair to encrypt: JSON bytes or base58, a file or -')
    .requiredOption('--out <file>', 'file to write (0600); one that is there is not replaced');

async function run(
  session: Session,
  [source]: [string],
  options: OptionsOf<typeof configure>,
): Promise<undefined> {
  const { context } = session;
  const out = newFile(session, options.out);
  const [{ readKeypair, signerOf }, { newPassphrase }, format, { keypairPath }] = await Promise.all([
    import('../../wallet/owner-key.js'),
    import('../../wallet/passphrase.js'),
    import('../../wallet/encrypted-keypair.js'),
    import('../../wallet/read-private-file.js'),
  ]);
  const keypair = await readKeypair(context, source);
  try {
    const { address } = signerOf(source, Uint8Array.from(keypair));
    const passphrase = await newPassphrase(context, address);
    try {
      const text = await format.encryptKeypair(keypair, address, passphrase);
      // What cannot be opened again would be found out when it is too late.
      const encrypted = format.readEncryptedKeypair(text);
      invariant(typeof encrypted !== 'string', 'What was encrypted can be read.');
      const again = await format.decryptKeypair(encrypted, passphrase);
      invariant(again?.equals(keypair) === true, 'What was encrypted can be opened.');
      again.fill(0);
      writeFileAtomic(out, text, 'ERR_INPUT_INVALID', { mode: 0o600, exclusive: true });
    } finally {
      passphrase.fill(0);
    }
    const original = source === '-' ? null : keypairPath(context, source);
    session.output.result({ address, file: out, original }, (style) => [
      style.good(`Wrote the encrypted keypair of ${address} to ${out}.`),
    ]);
    if (original !== null)
      session.output.warn(
        `The original is still there, unencrypted: ${original}. Delete it once the new file has signed something.`,
      );
  } finally {
    keypair.fill(0);
  }
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'The passphrase is asked for twice on the terminal, or read from the file that FLYWHEEL_KEY_PASSPHRASE_FILE names.',
    'scrypt (n 131072, r 8, p 1) and AES-256-GCM; the address stands in the file in clear. The original stays as it is.',
  ],
  output: ['{ "address", "file": path, "original": path | null }'],
  errors: ['ERR_KEYPAIR_INVALID', 'ERR_INPUT_INVALID', 'ERR_DECLINED'],
  examples: ['flywheel wallet encrypt owner.json --out owner.encrypted.json'],
});
