/** The option `--scope`, which repeats. */
import type { Scope } from '../../values/schemas.js';
import type { Invocation, OptionSpec } from '../command.js';

const SCOPES: readonly Scope[] = ['burn', 'airdrop'];

export const SCOPE_OPTION: OptionSpec = {
  flags: '--scope <scope>',
  description: 'what the key may do; repeat for several (default: burn and airdrop)',
  choices: SCOPES,
  repeats: true,
};

/** The scopes given, each once; all when none was given. */
export function parseScopes(invocation: Invocation): readonly Scope[] {
  const given = invocation.list('scope');
  return given.length === 0 ? SCOPES : SCOPES.filter((scope) => given.includes(scope));
}
