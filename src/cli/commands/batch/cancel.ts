/** `flywheel batch cancel`: ends what of a batch has not been executed. */
import type { Command } from '@commander-js/extra-typings';
import { fingerprint } from '../../../values/digest.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import type { OperationRequest } from '../../journal/journal.js';
import { ALLOW_UNVERIFIED_OPTION, KEYPAIR_OPTION } from '../../options/keypair.js';
import { parseBatchId } from '../../options/names.js';

const configure = (command: Command) =>
  command
    .argument('<batchId>', 'id of the batch (UUID)')
    .addOption(KEYPAIR_OPTION)
    .addOption(ALLOW_UNVERIFIED_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [id]: [string], options: Options): Promise<undefined> {
  const batchId = parseBatchId(id);
  const { context, settings } = session;
  const [{ CancelWork }, { runOperation }, { absoluteSource, keypairLocation, loadKeypair }] =
    await Promise.all([
      import('../../batch/cancel-work.js'),
      import('../../operation/run-operation.js'),
      import('../../wallet/load-keypair.js'),
    ]);
  const allowUnverified = options.allowUnverified === true;
  const flag = options.keypair;
  const source =
    flag === undefined ? null : absoluteSource(context, keypairLocation(context, settings, flag));
  const request: OperationRequest = {
    kind: 'cancel',
    content: fingerprint({ batchId }),
    origin: { from: 'content' },
    body: () => JSON.stringify({ batchId }),
    notes: () => ({ allowUnverified, keypair: typeof source === 'string' ? source : null }),
    command: session.commandLine,
    elements: [],
    again: false,
  };
  const signer = () => loadKeypair(context, source ?? keypairLocation(context, settings, undefined));
  await runOperation(session, request, new CancelWork(session, batchId, { signer, allowUnverified }));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Votes it down on chain, closes its accounts and gives back their rent and what it held of daily caps.',
    'What has been executed stays. Where the vote of the owner is needed it is asked for and signed with the keypair.',
  ],
  output: ['{ "id", "status": "FAILED", "executeResult"?, "dateCancelled", … }'],
  errors: [
    'ERR_BATCH_NOT_FOUND',
    'ERR_BATCH_IN_PROGRESS',
    'ERR_KEYPAIR_INVALID',
    'ERR_APPROVAL_REFUSED',
    'ERR_CHAIN_MISMATCH',
    'ERR_DECLINED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: [
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json',
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --yes --json',
  ],
});
