/**
 * Everything that is found out about a batch before its owner decides: what stands on chain, held against what is pinned and
 * expected, and tried out. Neither the service nor what it returned is believed.
 */
import { checkBatchContent, checkVoters } from '../../approval/check-content.js';
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import { type Pins, requireUnchanged } from '../../approval/pins.js';
import { type BatchDescription, readBatch } from '../../approval/read-batch.js';
import { type SimulatedChanges, simulateBatch } from '../../approval/simulate.js';
import type { ChainReader } from '../../chain/chain.js';
import type { Simulator } from '../../chain/simulator.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { OpenedService } from '../context.js';
import { checkExpectation, type Expectation } from './expectation.js';
import { refuse } from './pins.js';

/** A batch that may be approved as far as its content goes. */
export interface Review {
  readonly description: BatchDescription;
  readonly token: TokenOnChain;
  /** What it would change if it ran now; `null` where it was not tried out. */
  readonly changes: SimulatedChanges | null;
}

export interface ReviewInput {
  readonly batchIndex: bigint;
  readonly expectation: Expectation | null;
  readonly simulate: boolean;
}

/** @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_UNAVAILABLE` when the chain is out of reach. */
export async function reviewBatch(
  chain: ChainReader,
  opened: Pick<OpenedService, 'simulator'>,
  pins: Pins,
  { batchIndex, expectation, simulate }: ReviewInput,
): Promise<Review> {
  const description = await readBatch(chain, { multisig: pins.multisig, batchIndex });
  const token = await readTokenOnChain(chain, pins);
  if (pins.facts !== null)
    requireUnchanged(pins.facts, { ...multisigFacts(description.multisigAccount), ...token.facts });
  checkVoters(description.multisigAccount, pins);
  checkBatchContent(description, token.flywheel);
  if (expectation !== null) checkExpectation(description, expectation, token.flywheel);
  if (!simulate) requireExpected(expectation);
  const started = description.batch.executedTransactionIndex > 0;
  const changes =
    simulate && !started
      ? await simulateBatch(chain, await machine(opened), description, token.flywheel)
      : null;
  return { description, token, changes };
}

function requireExpected(expectation: Expectation | null): void {
  if (expectation !== null) return;
  throw refuse(
    'What is not tried out has to be compared with the pipelines file.',
    'Add --expect pipelines.json to --no-simulate.',
  );
}

async function machine({ simulator }: Pick<OpenedService, 'simulator'>): Promise<Simulator> {
  try {
    return await simulator();
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INTERNAL')) throw error;
    throw refuse(
      'There is no virtual machine for this computer, so what the batch does cannot be tried out.',
      'Add --expect pipelines.json --no-simulate to go by the decoded content alone.',
    );
  }
}
