/** `flywheel wallet decrypt`: an encrypted keypair as a file of the Solana CLI's format again. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { writeFileAtomic } from '../../../files/write-file.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { newFile } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<file>', 'what `wallet encrypt` wrote')
    .requiredOption('--out <file>', 'file to write (0600); one that is there is not replaced');

async function run(
  session: Session,
  [source]: [string],
  options: OptionsOf<typeof configure>,
): Promise<undefined> {
  const { context } = session;
  const file = newFile(session, options.out);
  const { ownerKey, readKeypair } = await import('../../wallet/owner-key.js');
  const { isEncrypted, address, name } = ownerKey(context, source).describe();
  if (!isEncrypted) throw new FlywheelError('ERR_KEYPAIR_INVALID', `${name}: it is not encrypted.`);
  const keypair = await readKeypair(context, source);
  const text = Buffer.from(`[${keypair.join(',')}]\n`);
  try {
    writeFileAtomic(file, text, 'ERR_INPUT_INVALID', { mode: 0o600, exclusive: true });
  } finally {
    keypair.fill(0);
    text.fill(0);
  }
  session.output.result({ address, file }, (style) => [
    style.good(`Wrote the keypair of ${address} to ${file}.`),
  ]);
  session.output.warn(`${file} is not encrypted: who reads it can sign as ${address}.`);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: ['{ "address", "file": path }'],
  errors: ['ERR_KEYPAIR_INVALID', 'ERR_INPUT_INVALID', 'ERR_DECLINED'],
  examples: ['flywheel wallet decrypt owner.encrypted.json --out owner.json'],
});
