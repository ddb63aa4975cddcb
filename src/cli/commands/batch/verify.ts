/** `flywheel batch verify`: does the chain bear out what a pipelines file says was done? */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { parseBatchId } from '../../options/names.js';
import { callWith } from '../../send.js';

const configure = (command: Command) =>
  command
    .argument('[batchId]', 'batch id (UUID); the service is asked for its index only')
    .requiredOption('--expect <file>', 'the pipelines file, or its digest (sha256:…)')
    .option('--batch-index <n>', 'index of the batch in the multisig, instead of the id; asks no service');

type Options = OptionsOf<typeof configure>;

async function run(
  session: Session,
  [id]: [string | undefined],
  { expect, batchIndex }: Options,
): Promise<undefined> {
  if ((id === undefined) === (batchIndex === undefined))
    throw new FlywheelError('ERR_USAGE', 'Name either the batch id or --batch-index.');
  const [{ readExpectation }, { requirePins, refuse }, { verifyBatch }, { unitOfToken }] = await Promise.all([
    import('../../batch/expectation.js'),
    import('../../batch/pins.js'),
    import('../../batch/verify-batch.js'),
    import('../../batch/review.js'),
  ]);
  const expectation = await readExpectation(session, expect);
  const opened = await session.service();
  const { chain, history } = opened;
  if (chain === null || history === null)
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No chain can be read, so nothing can be verified.', {
      hint: 'Set FLYWHEEL_RPC_URL to an RPC of your own.',
    });
  const pins = requirePins(opened.pins);
  const trusted = await opened.trusted();
  if (trusted === null) throw refuse(`The account ${pins.mint} is not a mint.`);
  const name = id === undefined ? null : await namedByService(session, id);
  if (name !== null && name.multisig !== pins.multisig)
    throw refuse(
      `The batch belongs to the multisig ${name.multisig}, but the project's is ${pins.multisig}.`,
    );
  const { value, view, failure } = await verifyBatch(chain, history, {
    batchId: name?.id ?? null,
    batchIndex: name?.batchIndex ?? parseIndex(batchIndex ?? ''),
    flywheel: trusted,
    expectation,
    unit: unitOfToken(opened, trusted),
  });
  session.output.result(value, view);
  if (failure !== undefined) throw failure;
  return undefined;
}

async function namedByService(session: Session, id: string) {
  const opened = await session.service();
  const { batchName } = await import('../../batch/approval-source.js');
  const batchId = parseBatchId(id);
  return batchName((await opened.service.getBatch({ batchId }, callWith(session, opened))).value);
}

const MAX_INDEX = 2n ** 64n - 1n;

function parseIndex(text: string): bigint {
  const index = /^[0-9]{1,20}$/.test(text) ? BigInt(text) : 0n;
  if (index >= 1n && index <= MAX_INDEX) return index;
  throw new FlywheelError('ERR_USAGE', `--batch-index: expected a whole number from 1 to ${MAX_INDEX}.`);
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Reads only the chain: what was put into the batch, which of it was executed by transactions that',
    'succeeded, and, if the node still has them, how the balances of token accounts changed.',
    'A batch that differs from the file, or was executed only in part, is exit 9.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "verified", "batchId", "multisig", "batchIndex", "digest", "expected", "transactions": [ { "index", "type", "proofHash",',
    '  "actions", "txHash", "dateExecuted"? } ], "totals", "balances": "agree"|"differ"|"not kept", "missing": [ index ],',
    '  "differences": [ text ] }',
  ],
  examples: [
    'flywheel batch verify 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --expect pipelines.json',
    'flywheel batch verify --batch-index 7 --expect pipelines.json --pins pins.json --json',
  ],
});
