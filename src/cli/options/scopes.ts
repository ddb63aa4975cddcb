/** The option `--scope`, which repeats. */
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { type Scope, scopeSchema } from '../../values/schemas.js';

const SCOPES: readonly Scope[] = scopeSchema.options;

function addScope(word: string, before: readonly Scope[] = []): readonly Scope[] {
  const scope = SCOPES.find((name) => name === word);
  if (scope === undefined) throw new InvalidArgumentError(`Allowed choices are ${SCOPES.join(', ')}.`);
  return [...before, scope];
}

export const SCOPE_OPTION = new Option(
  '--scope <scope>',
  'what the key may do (repeatable; default: burn and airdrop)',
)
  .choices(SCOPES)
  .argParser(addScope);

/** The scopes given, each once; all when none was given. */
export const scopesOrAll = (given: readonly Scope[] = []): readonly Scope[] =>
  given.length === 0 ? SCOPES : SCOPES.filter((scope) => given.includes(scope));
