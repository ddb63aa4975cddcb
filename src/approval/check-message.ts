/** Is a stored message exactly what a pipeline becomes, with the same rights for the same accounts, and nothing beside? */

import { type PipelineContent, pipelineInstructions } from '../actions/pipelines.js';
import type { VaultToken } from '../chain/flywheel.js';
import { isSameMessage } from '../chain/squads/message.js';
import {
  type CompiledInstruction,
  compile,
  isSigner,
  isWritable,
  type Message,
} from '../chain/transaction/message.js';
import type { Address } from '../values/address.js';
import { sameBytes } from '../values/bytes.js';

const NO_RIGHTS = 'is only read';

function rightsOf(message: Message): ReadonlyMap<Address, string> {
  return new Map(
    message.staticKeys.map((key, index) => {
      const rights = [
        ...(isSigner(message, index) ? ['signs'] : []),
        ...(isWritable(message, index) ? ['is written'] : []),
      ];
      return [key, rights.join(' and ') || NO_RIGHTS];
    }),
  );
}

/** An instruction with addresses in place of indexes. */
const resolved = ({ staticKeys }: Message, { programIndex, accountIndexes }: CompiledInstruction): string =>
  [programIndex, ...accountIndexes].map((index) => staticKeys[index]).join(' ');

/**
 * Compares a stored message with the one that the content would be compiled to. The order of accounts is the compiler's own
 * matter: it changes nothing that is done.
 * @returns what differs, or `undefined`; no full stop.
 */
export function messageProblem(
  actual: Message,
  content: PipelineContent,
  token: VaultToken,
): string | undefined {
  const expected = compile(token.vault, pipelineInstructions(content, token));
  if (isSameMessage(actual, expected)) return undefined;
  const wanted = rightsOf(expected);
  const rights = rightsOf(actual);
  if (rights.size !== actual.staticKeys.length) return 'it lists an account twice';
  for (const [key, right] of rights) {
    const due = wanted.get(key);
    if (due === undefined) return `it names the account ${key}, which a pipeline does not need`;
    if (due !== right) return `${key} ${right}; in a pipeline it ${due}`;
  }
  const missing = [...wanted.keys()].find((key) => !rights.has(key));
  if (missing !== undefined) return `it does not name the account ${missing}, which a pipeline needs`;
  if (actual.instructions.length !== expected.instructions.length)
    return `it has ${actual.instructions.length} instructions, its pipeline has ${expected.instructions.length}`;
  const at = actual.instructions.findIndex((instruction, index) => {
    const due = expected.instructions[index] as CompiledInstruction;
    return (
      resolved(actual, instruction) !== resolved(expected, due) || !sameBytes(instruction.data, due.data)
    );
  });
  return at < 0 ? undefined : `instruction ${at + 1} differs from that of its pipeline`;
}
