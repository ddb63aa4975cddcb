/** Commands that a hint names: with the place where this run has worked, and those that give what is missing. */
import type { Settings } from '../compose/settings.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { OpenedService } from './context.js';
import { chainFlags, commandLine, placeFlags } from './operation/resume-line.js';
import { shellLine } from './shell-line.js';

const COMMAND = /`flywheel ([^`]+)`/g;
/** They are about no service. */
const PLACELESS = /^(?:help|profile)\b/;
/** They are of whoever runs a service that is elsewhere. */
const OF_DIRECTORY = /^(?:audit|db|keys|local|register|serve|vault)\b/;

/** In the address of a node. */
const HIDDEN = '/***';

/** The error with such a hint; anything else as it is. */
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

/** Accounts as `local fund --to` calls them, and as refusals do, each followed by its address. */
const ACCOUNTS: Readonly<Record<string, string>> = {
  'burn-wallet': 'burn wallet',
  vault: 'vault',
  operator: 'operator',
};
/** The part of a refusal about one account: what it has, and what it would need. */
const LACKS = /[^;]* has [^;]* and needs [^;]*/g;

/** The accounts that a refusal says lack something, and whether that is tokens or SOL. */
const lackingIn = (message: string): readonly (readonly string[])[] =>
  (message.match(LACKS) ?? []).flatMap((part) =>
    Object.entries(ACCOUNTS)
      .filter(([, name]) => part.includes(`he ${name} `))
      .map(([to]) => ['--to', to, / needs [\d.,]+ SOL\b/.test(part) ? '--sol' : '--tokens', 'N']),
  );

/** The error with that hint, if it is about missing funds and the service is on this machine; else as it is. */
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
