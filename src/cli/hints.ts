/** Lines to paste: hints with the flags of this run, and what approves a waiting batch. */
import { existsSync } from 'node:fs';
import type { Settings } from '../compose/settings.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { ownerFile } from '../files/directories.js';
import { commandLine, runFlags } from './operation/resume-line.js';
import { shellLine } from './shell-line.js';

const COMMAND = /`flywheel ([^`]+)`/g;

const HIDDEN = '/***';

/** Adds the flags of this run to each command in the hint. Values without a hint are returned unchanged. */
export function withPlace(thrown: unknown, settings: Settings): unknown {
  if (!(thrown instanceof FlywheelError) || thrown.hint === undefined) return thrown;
  const hint = thrown.hint.replaceAll(COMMAND, (line: string, words: string) => {
    // It names a place of its own.
    if (words.includes(' --profile ')) return line;
    const flags = runFlags(settings, words.split(' ')).map(shellLine);
    const missing = flags.filter((text) => text !== '' && !words.includes(text));
    return `\`${['flywheel', words, ...missing].join(' ')}\``;
  });
  const way = hint.includes(HIDDEN)
    ? 'Put the key back in place of ***, or leave out --rpc-url and set FLYWHEEL_RPC_URL. '
    : '';
  return thrown.with({ hint: `${way}${hint}` });
}

/** `--keypair` with the owner's file: of this run, of the settings, or of the embedded project. Empty if none is known. */
export function ownerFlags({ apiUrl, dataDir, keypair }: Settings, typed?: string | null): readonly string[] {
  const own = apiUrl.value === null ? ownerFile(dataDir.value) : null;
  const set = typeof keypair.value === 'string' && keypair.value !== '-' ? keypair.value : null;
  const file = typed ?? set ?? (own !== null && existsSync(own) ? own : null);
  return file === null ? [] : ['--keypair', file];
}

/** The one command that every screen prints for a batch that waits for approval. */
export function nextCommand(settings: Settings, batchId: string, typed?: string | null): string {
  const owner = ownerFlags(settings, typed);
  return owner.length === 0
    ? commandLine(settings, 'batch', 'approve', batchId, '--wallet')
    : commandLine(settings, 'batch', 'execute', batchId, ...owner);
}
