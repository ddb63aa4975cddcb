/** Completes commands in hints with the flags of this run, and names commands that add missing funds. */
import type { Settings } from '../compose/settings.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { OpenedService } from './context.js';
import { commandLine, runFlags } from './operation/resume-line.js';
import { shellLine } from './shell-line.js';

const COMMAND = /`flywheel ([^`]+)`/g;

const HIDDEN = '/***';

/** Adds the flags of this run to each command in the hint. Values without a hint are returned unchanged. */
export function withPlace(thrown: unknown, settings: Settings): unknown {
  if (!(thrown instanceof FlywheelError) || thrown.hint === undefined) return thrown;
  const hint = thrown.hint.replaceAll(COMMAND, (_, words: string) => {
    const flags = runFlags(settings, words.split(' ')).map(shellLine);
    const missing = flags.filter((text) => text !== '' && !words.includes(text));
    return `\`${['flywheel', words, ...missing].join(' ')}\``;
  });
  const way = hint.includes(HIDDEN)
    ? 'Put the key back in place of ***, or leave out --rpc-url and set FLYWHEEL_RPC_URL. '
    : '';
  return thrown.with({ hint: `${way}${hint}` });
}

/** Adds a funding hint to an error about missing funds of an embedded service. Other values are returned unchanged. */
export function withFundsHint(
  thrown: unknown,
  { kind, isOnThisMachine }: OpenedService,
  settings: Settings,
): unknown {
  const isAboutFunds = thrown instanceof FlywheelError && /\binsufficient funds: /i.test(thrown.message);
  if (kind !== 'embedded' || !isAboutFunds) return thrown;
  const balances = `Show the balances: \`${commandLine(settings, 'vault')}\`.`;
  const hint = isOnThisMachine
    ? `${balances} Add test tokens or test SOL: \`flywheel local fund --help\`.`
    : `Send the missing amount to that address. ${balances}`;
  return thrown.with({ hint });
}
