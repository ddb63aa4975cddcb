/** Completes commands in hints with the flags of this run, and names commands that add missing funds. */
import type { Settings } from '../compose/settings.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { OpenedService } from './context.js';
import { chainFlags, commandLine, placeFlags } from './operation/resume-line.js';
import { shellLine } from './shell-line.js';

const COMMAND = /`flywheel ([^`]+)`/g;
/** Commands that work without a service. */
const PLACELESS = /^(?:help|profile)\b/;
/** Commands for the machine of the service; with a remote API they get no flags. */
const OF_DIRECTORY = /^(?:audit|db|keys|local|register|serve|vault)\b/;

const HIDDEN = '/***';

/** Adds the flags of this run to each command in the hint. Values without a hint are returned unchanged. */
export function withPlace(thrown: unknown, settings: Settings): unknown {
  if (!(thrown instanceof FlywheelError) || thrown.hint === undefined) return thrown;
  const isRemote = settings.apiUrl.value !== null;
  const hint = thrown.hint.replaceAll(COMMAND, (command: string, words: string) => {
    if (PLACELESS.test(words) || (isRemote && OF_DIRECTORY.test(words))) return command;
    const place = [placeFlags(settings), chainFlags(settings, words.split(' '))].map(shellLine);
    const missing = place.filter((flags) => flags !== '' && !words.includes(flags));
    return `\`${['flywheel', words, ...missing].join(' ')}\``;
  });
  const way = hint.includes(HIDDEN)
    ? 'Put the key back in place of ***, or leave out --rpc-url and set FLYWHEEL_RPC_URL. '
    : '';
  return thrown.with({ hint: `${way}${hint}` });
}

/** Values of `local fund --to`, with the names that error messages put before the address. */
const ACCOUNTS: Readonly<Record<string, string>> = {
  'burn-wallet': 'burn wallet',
  vault: 'vault',
  operator: 'operator',
};
/** The part of an error message about one account: `… has X and needs Y`. */
const LACKS = /[^;]* has [^;]* and needs [^;]*/g;

const lackingIn = (message: string): readonly (readonly string[])[] =>
  (message.match(LACKS) ?? []).flatMap((part) =>
    Object.entries(ACCOUNTS)
      .filter(([, name]) => part.includes(`he ${name} `))
      .map(([to]) => ['--to', to, / needs [\d.,]+ SOL\b/.test(part) ? '--sol' : '--tokens', 'N']),
  );

/** Adds a funding hint to an error about missing funds of an embedded service. Other values are returned unchanged. */
export function withFundsHint(
  thrown: unknown,
  { kind, isOnThisMachine }: OpenedService,
  settings: Settings,
): unknown {
  if (!(thrown instanceof FlywheelError) || kind !== 'embedded') return thrown;
  const isAboutFunds =
    isFlywheelError(thrown, 'ERR_INSUFFICIENT_FUNDS') ||
    isFlywheelError(thrown, 'ERR_BURN_TOKENOMICS_FAILED');
  const lacking = isAboutFunds ? lackingIn(thrown.message) : [];
  if (lacking.length === 0) return thrown;
  const hint = isOnThisMachine
    ? `Fund it: ${lacking.map((words) => `\`${commandLine(settings, 'local', 'fund', ...words)}\``).join(', ')}.`
    : `Send the missing amount to that address. Check the balances: \`${commandLine(settings, 'vault')}\``;
  return thrown.with({ hint });
}
