/** Options that say which items of a list are meant, the same for every list that has them. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { ActionName } from '../../actions/registry.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isAddress } from '../../values/address.js';
import type { Session } from '../command.js';
import { timeOption } from './times.js';

/** Which pipelines are meant. */
export const pipelineFilters = <
  Args extends unknown[],
  Options extends Record<string, unknown>,
  Action extends ActionName,
>(
  command: Command<Args, Options>,
  actions: readonly Action[],
) =>
  command
    .option('--type <type>', 'only with this proof type')
    .addOption(new Option('--action <action>', 'only with this action').choices(actions))
    .option('--proof-hash <hash>', 'only with this proof hash')
    .option('--recipient <address>', 'only with an airdrop to this address')
    .option('--tx <signature>', 'only with this transaction');

interface PipelineOptions<Action extends ActionName> {
  readonly type?: string | undefined;
  readonly action?: Action | undefined;
  readonly proofHash?: string | undefined;
  readonly recipient?: string | undefined;
  readonly tx?: string | undefined;
}

/** Only what was typed, by the names of the API. @throws `ERR_INPUT_INVALID` */
export function pipelineQuery<Action extends ActionName>({
  type,
  action,
  proofHash,
  recipient,
  tx,
}: PipelineOptions<Action>) {
  if (recipient !== undefined && !isAddress(recipient))
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `--recipient: expected a base58 address of 32 bytes, got ${JSON.stringify(recipient.slice(0, 60))}.`,
    );
  return {
    ...(type === undefined ? {} : { type }),
    ...(action === undefined ? {} : { action }),
    ...(proofHash === undefined ? {} : { proofHash: proofHash.toLowerCase() }),
    ...(recipient === undefined ? {} : { toAddress: recipient }),
    ...(tx === undefined ? {} : { txHash: tx }),
  };
}

/** Between which times; a bound that was not typed is not there. @throws `ERR_INPUT_INVALID` */
export function timesQuery(
  { context }: Pick<Session, 'context'>,
  options: { readonly since?: string | undefined; readonly until?: string | undefined },
) {
  const nowMs = context.clock.nowMs();
  const since = timeOption('--since', options.since, nowMs);
  const until = timeOption('--until', options.until, nowMs);
  if (since !== undefined && until !== undefined && since >= until)
    throw new FlywheelError('ERR_INPUT_INVALID', '--since is not before --until.');
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
}
