/** A service whose answers the test defines; a missing answer throws. */
import { attributeOutcomes } from '../../src/client/burn-outcomes.js';
import type { Call, Reply } from '../../src/contract/call.js';
import type { OperationId } from '../../src/contract/operations.js';
import type { BurnBatchResult, BurnRequest } from '../../src/contract/schemas/burn.js';
import { type AnswerOf, eachOperation, type Perform } from '../../src/contract/service.js';
import { FlywheelError } from '../../src/errors/flywheel-error.js';
import type { Secret } from '../../src/values/secret.js';
import { EXAMPLES } from './wire-examples.js';

export { type AnswerOf, EXAMPLES, FlywheelError };

export const GOOD_KEY = 'fk_test_good_key_0123456789';

interface SeenCall {
  readonly operation: OperationId;
  readonly input: unknown;
  readonly call: Call;
}

type Answering = (seen: SeenCall) => Promise<Reply<unknown>> | Reply<unknown>;

export type FakeService = ReturnType<typeof fakeService>;

export function fakeService() {
  const calls: SeenCall[] = [];
  const answers = new Map<OperationId, Answering>();
  const respond: Perform = async (operation, input, call) => {
    const seen = { operation, input, call };
    const isOfWaiting = operation === 'listBatches' && (input as { status?: string }).status === 'FINALIZED';
    if ((isLookUp(operation, input) || isOfWaiting) && !answers.has(operation))
      throw new FlywheelError('ERR_NOT_FOUND', 'It has no lists.');
    calls.push(seen);
    const answer = answers.get(operation);
    const reply = answer === undefined ? exampleReply(operation) : await answer(seen);
    if (operation === 'burnBatch' && call.onElement !== undefined)
      for (const outcome of attributeOutcomes(input as BurnRequest[], reply.value as BurnBatchResult)
        .outcomes)
        call.onElement(outcome);
    return reply as Reply<AnswerOf<typeof operation>>;
  };
  return {
    calls,
    answer: (operation: OperationId, reply: Answering) => void answers.set(operation, reply),
    service: { ...eachOperation(respond), close: async () => undefined },
  };
}

/** Commands query this list before they act, and accept that a service lacks it. */
const isLookUp = (operation: OperationId, input: unknown): boolean =>
  (operation === 'listBurns' || operation === 'listBatches') &&
  ['idempotencyKey', 'proofHash'].some((name) => Object.hasOwn(input as object, name)) &&
  !Object.hasOwn(input as object, 'type');

export const exampleReply = (operation: OperationId): Reply<unknown> => ({
  value: EXAMPLES[operation].response,
  meta: { replayed: false },
});

/** Accepts one key and every key with its prefix; each is its own principal. */
export async function fakeAuthenticate(credential: Secret | null): Promise<{ keyId: string }> {
  const key = credential?.reveal() ?? '';
  if (!key.startsWith(GOOD_KEY)) {
    throw new FlywheelError('ERR_UNAUTHORIZED', 'The API key is missing, unknown or revoked.');
  }
  return { keyId: `key-${key.slice(GOOD_KEY.length)}` };
}
