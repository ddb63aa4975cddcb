/**
 * Where the passphrase of an encrypted keypair comes from: a file that the environment names, which may be an open descriptor
 * such as `/dev/fd/3`, or the terminal, without echo. Never the command line, and not the environment itself, which every
 * program that is started here inherits.
 */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { CliContext } from '../context.js';
import { safeLine } from '../output/safe-text.js';
import { readPrivateFile, refuseKey } from './read-private-file.js';

/** What asking for one takes. */
export type PassphraseContext = Pick<CliContext, 'io' | 'env' | 'cwd' | 'home' | 'platform'>;

/** The variable that names a file. */
export const PASSPHRASE_FILE_VARIABLE = 'FLYWHEEL_KEY_PASSPHRASE_FILE';
const MAX_PASSPHRASE_BYTES = 1_024;
/** Of a new one; with fewer, trying them all is not much work even for scrypt. */
const MIN_PASSPHRASE_BYTES = 12;
const [LF, CR] = [0x0a, 0x0d];

/** The content of the file without the end of its line. */
function fromFile(context: PassphraseContext, location: string): Buffer {
  const content = readPrivateFile(context, {
    location,
    what: 'passphrase',
    // It may be the passphrase itself, by mistake.
    name: PASSPHRASE_FILE_VARIABLE,
    maxBytes: MAX_PASSPHRASE_BYTES,
  });
  let end = content.length;
  if (content[end - 1] === LF) end -= 1;
  if (content[end - 1] === CR) end -= 1;
  return content.subarray(0, end);
}

async function fromTerminal(
  { io }: PassphraseContext,
  question: string,
  need = 'The keypair is encrypted, and nobody can be asked for its passphrase here.',
): Promise<Buffer> {
  if (!io.stdin.isTTY || !io.stderr.isTTY)
    throw new FlywheelError('ERR_KEYPAIR_INVALID', need, {
      hint: `Set ${PASSPHRASE_FILE_VARIABLE} to a file that holds it (chmod 600), or to an open descriptor such as /dev/fd/3.`,
    });
  const typed = await io.promptHidden(question, MAX_PASSPHRASE_BYTES);
  if (typed === null) throw new FlywheelError('ERR_DECLINED', 'No passphrase was given.');
  return Buffer.from(typed.buffer, typed.byteOffset, typed.length);
}

/** The passphrase of a file that is there; to be overwritten by the caller. @throws `ERR_KEYPAIR_INVALID`, `ERR_DECLINED` */
export async function readPassphrase(context: PassphraseContext, name: string): Promise<Buffer> {
  const location = context.env[PASSPHRASE_FILE_VARIABLE];
  if (location !== undefined && location !== '') return fromFile(context, location);
  return fromTerminal(context, `Passphrase of ${safeLine(name)}: `);
}

/** A passphrase for a new file: on a terminal asked for twice. @throws `ERR_KEYPAIR_INVALID`, `ERR_DECLINED` */
export async function newPassphrase(context: PassphraseContext, name: string): Promise<Buffer> {
  const location = context.env[PASSPHRASE_FILE_VARIABLE];
  const isFile = location !== undefined && location !== '';
  const first = isFile
    ? fromFile(context, location)
    : await fromTerminal(
        context,
        `New passphrase for ${safeLine(name)}: `,
        'Nobody can be asked for a new passphrase here.',
      );
  if (first.length < MIN_PASSPHRASE_BYTES) {
    first.fill(0);
    throw refuseKey('The passphrase', `it has fewer than ${MIN_PASSPHRASE_BYTES} characters`);
  }
  if (isFile) return first;
  const second = await fromTerminal(context, 'The same once more: ');
  const isSame = first.equals(second);
  second.fill(0);
  if (isSame) return first;
  first.fill(0);
  throw refuseKey('The passphrase', 'it was not typed the same twice');
}
