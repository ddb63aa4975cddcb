/** `flywheel db accept-gap`: shows what the chain knows and the store does not, and goes on without it. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { requireConsent, showSubject } from '../../consent.js';
import type { GapReport } from '../../context.js';
import { commandLine } from '../../operation/resume-line.js';
import { integerOption } from '../../options/amounts.js';
import { burnsText, viewGap, viewNoGap } from '../../views/gap.js';

const MAX_TRANSACTIONS = 1_000_000;

const configure = (command: Command) =>
  command.option('--expect <n>', 'accept only if this many transactions are missing (required with --yes)');

/** Without a person who looks at it, its size has to have been seen before. @throws `ERR_USAGE`, `ERR_INPUT_INVALID` */
function requireExpected(session: Session, { transactions }: GapReport, expected: number | undefined): void {
  if (expected === undefined && session.settings.yes)
    throw new FlywheelError('ERR_USAGE', '--yes needs --expect, the number of missing transactions.', {
      hint: `Review them first (${transactions} are missing): \`${commandLine(session.settings, 'db', 'accept-gap')}\``,
    });
  if (expected === undefined || expected === transactions) return;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `--expect: ${transactions} transactions are missing, not ${expected}. Nothing was accepted.`,
  );
}

async function run(session: Session, _args: [], options: OptionsOf<typeof configure>): Promise<undefined> {
  const expected =
    options.expect === undefined
      ? undefined
      : integerOption('--expect', options.expect, { least: 0, most: MAX_TRANSACTIONS, fallback: 0 });
  const local = await session.local();
  const gap = await local.gap();
  if (gap === null) {
    session.output.result({ accepted: false, gap: null }, () => viewNoGap());
    return undefined;
  }
  requireExpected(session, gap, expected);
  if (!session.settings.yes) showSubject(session, viewGap(gap).join('\n'));
  await requireConsent(
    session,
    `Continue without a record of ${burnsText(gap)}? Lost requests that are sent again will burn again.`,
    { without: `--yes --expect ${gap.transactions}` },
  );
  await local.acceptGap(gap.transactions);
  session.output.result({ accepted: true, gap }, (style) => [
    style.good(`Accepted: ${burnsText(gap)} without a record. Writes are possible again.`),
  ]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'flywheel stores every transaction before it sends it. If the chain has a transaction of the project that the store does not know, an older copy of the store was restored, or somebody else signs with the same keys.',
    'Accepting counts the lost burns and airdrops against the daily caps and writes an audit log entry. Lost proofs, API keys and idempotency keys do not come back: create lost keys again. A lost request that is sent again burns again. Pending requests of the restored copy are then resumed.',
    'On the embedded ledger it is for a store.db that is older than ledger.db.',
  ],
  output: [
    '{ "accepted": boolean, "gap": null | { "project", "symbol", "burns", "transactions", "burned", "airdropped", "pendingBurns", "dateFound", "lost": [ { "txHash", "burned", "airdropped", "memo", "date" } ] } }',
    'amounts in whole tokens; accepted is false if nothing is missing',
  ],
  examples: ['flywheel db accept-gap', 'flywheel db accept-gap --project fly --yes --expect 12'],
});
