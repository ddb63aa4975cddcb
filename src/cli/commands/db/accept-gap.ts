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
  command.option(
    '--expect <n>',
    'accept only if so many transactions are missing; with --yes it has to be given',
  );

/** Without a person who looks at it, its size has to have been seen before. @throws `ERR_USAGE`, `ERR_INPUT_INVALID` */
function requireExpected(session: Session, { transactions }: GapReport, expected: number | undefined): void {
  if (expected === undefined && session.settings.yes)
    throw new FlywheelError('ERR_USAGE', 'With --yes, --expect says how many transactions are missing.', {
      hint: `Look at them first: \`${commandLine(session.settings, 'db', 'accept-gap')}\`; ${transactions} are missing.`,
    });
  if (expected === undefined || expected === transactions) return;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `--expect: ${transactions} transactions are missing, not ${expected}; nothing was accepted.`,
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
    `Go on without a record of ${burnsText(gap)}? Requests that are sent again are then done again.`,
    { without: `--yes --expect ${gap.transactions}` },
  );
  await local.acceptGap(gap.transactions);
  session.output.result({ accepted: true, gap }, (style) => [
    style.good(`Accepted: ${burnsText(gap)} without a record. Writes go on.`),
  ]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    "Everything is written down before it is sent. A transaction that one of the service's own keys has signed, that took tokens, and that the store does not know, was sent by a store that had more: an older copy was restored. Or somebody else signs with the same keys: then find out who.",
    'Accepting counts what was burned and airdropped on its days, so that daily caps hold, and writes a line of the audit log. Proofs, API keys and idempotency keys since that copy cannot be had back: make lost keys again, and know that a lost request that is sent again is a new one and burns again. What the copy has as pending is then carried on.',
    'On the embedded ledger it is for a store.db that is older than its ledger.db.',
  ],
  output: [
    '{ "accepted": boolean, "gap": null | { "project", "symbol", "burns", "transactions", "burned", "airdropped", "pendingBurns", "dateFound", "lost": [ { "txHash", "burned", "airdropped", "memo", "date" } ] } }',
    'amounts in whole tokens; accepted is false where nothing is missing',
  ],
  examples: ['flywheel db accept-gap', 'flywheel db accept-gap --project fly --yes --expect 12'],
});
