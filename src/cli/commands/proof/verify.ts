/** `flywheel proof verify`: does a landed transaction carry the hash of this proof, and did it do what was said of it? */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { proofHash, type Sha256 } from '../../../values/digest.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { readProof } from '../../input/proof.js';
import { readInputText } from '../../input/read-input.js';
import type { Candidate } from '../../proof/expected-actions.js';

const configure = (command: Command) =>
  command
    .requiredOption('--tx <signature>', 'signature of the transaction')
    .requiredOption('--proof <file>', 'proof file (a JSON object); - for standard input')
    .option('--amount <n>', 'whole tokens that should have been burned')
    .option('--expect <file>', 'burns file or pipelines file with the expected amounts');

type Options = OptionsOf<typeof configure>;

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const { tx, proof } = options;
  if (options.amount !== undefined && options.expect !== undefined)
    throw new FlywheelError('ERR_USAGE', '--amount and --expect cannot be combined.');
  const hash = proofHash(readProof(await readInputText(session.context, proof)));
  const candidates = await candidatesOf(session, options, hash);
  const opened = await session.service();
  const { verifyProof } = await import('../../proof/verify-proof.js');
  const { value, view } = await verifyProof(opened, { tx, hash, candidates, pins: opened.pins });
  session.output.result(value, view);
  return undefined;
}

async function candidatesOf(
  { context }: Session,
  { amount, expect }: Options,
  hash: Sha256,
): Promise<readonly Candidate[] | null> {
  if (amount === undefined && expect === undefined) return null;
  const { burnOfAmount, entriesOf } = await import('../../proof/expected-actions.js');
  return amount === undefined
    ? await entriesOf(await readInputText(context, expect ?? ''), hash)
    : [burnOfAmount(amount)];
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Reads the transaction from the local ledger, or from FLYWHEEL_RPC_URL with a remote API. No service is asked.',
    'Decodes what it burned and sent for this proof from its instructions, or from the batch it executed, and compares that with',
    '--amount, or with the entry of --expect that has this proof, in base units of the pinned mint. A difference, or an unreadable',
    'transaction, is exit 9. Without either option the amounts are only shown.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "verified": true, "txHash", "hash", "type", "slot", "dateLanded"?, "amounts": "agree"|"not compared"|"not told", "untold"?,',
    '  "entry"?, "moved": { "mint", "burned": { "amount", "baseUnits" }, "sent": [ { "account", "amount", "baseUnits" } ] }|null,',
    '  "balances": "agree"|"not kept" }',
  ],
  examples: [
    'flywheel proof verify --tx SIGNATURE --proof proof.json',
    'flywheel proof verify --tx SIGNATURE --proof proof.json --amount 12.5',
    'flywheel proof verify --tx SIGNATURE --proof proof.json --expect pipelines.json',
  ],
});
