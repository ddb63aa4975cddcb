/** Compares a message to be signed with the one that its content compiles to. */
import { isSameMessage } from '../chain/squads/message.js';
import { type CompiledInstruction, type Message, staticAccounts } from '../chain/transaction/message.js';
import { sameBytes } from '../values/bytes.js';

const rightsIn = (message: Message): ReadonlyMap<string, string> =>
  new Map(
    staticAccounts(message).map(({ address, signer, writable }) => {
      const rights = [...(signer ? ['signs'] : []), ...(writable ? ['is written'] : [])];
      return [address, rights.join(' and ') || 'is only read'];
    }),
  );

const accountsOf = ({ staticKeys }: Message, { programIndex, accountIndexes }: CompiledInstruction): string =>
  [programIndex, ...accountIndexes].map((index) => staticKeys[index]).join(' ');

/**
 * The first difference without a full stop, or `undefined`. The order of accounts may differ: it has no effect. Messages with
 * lookup tables differ always.
 */
export function messageProblem(actual: Message, expected: Message): string | undefined {
  if (isSameMessage(actual, expected)) return undefined;
  if (actual.lookups.length > 0) return 'it uses a lookup table, so its accounts cannot be checked';
  const wanted = rightsIn(expected);
  const rights = rightsIn(actual);
  if (rights.size !== actual.staticKeys.length) return 'an account is listed twice';
  for (const [key, right] of rights) {
    const due = wanted.get(key);
    if (due === undefined) return `the account ${key} is not needed`;
    if (due !== right) return `the account ${key} ${right}, expected: ${due}`;
  }
  const missing = [...wanted.keys()].find((key) => !rights.has(key));
  if (missing !== undefined) return `the account ${missing} is missing`;
  if (actual.instructions.length !== expected.instructions.length)
    return `${actual.instructions.length} instructions, expected ${expected.instructions.length}`;
  const at = actual.instructions.findIndex((instruction, index) => {
    const due = expected.instructions[index] as CompiledInstruction;
    return (
      accountsOf(actual, instruction) !== accountsOf(expected, due) || !sameBytes(instruction.data, due.data)
    );
  });
  return at < 0 ? undefined : `instruction ${at + 1} is not the expected one`;
}
