/** `flywheel proof`: hashes a proof, and verifies that a landed transaction carries the hash and moved the expected amounts. */
import { type Command, Option } from '@commander-js/extra-typings';
import { proofHash } from '../../values/digest.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { readInputText, readProof } from '../input/read-input.js';
import { burnOfAmount, entriesOf, verifyProof, viewProof } from '../verify-proof.js';

const verifyOptions = (command: Command) =>
  command
    .requiredOption('--tx <signature>', 'signature of the transaction')
    .requiredOption('--proof <file>', 'proof file (a JSON object); - for standard input')
    .addOption(new Option('--amount <n>', 'expected burn in whole tokens').conflicts('expect'))
    .option('--expect <file>', 'burns file or pipelines file with the expected amounts');

async function verify(session: Session, _args: [], options: OptionsOf<typeof verifyOptions>): Promise<void> {
  const { tx, proof, amount, expect } = options;
  const hash = proofHash(readProof(await readInputText(session.context, proof)));
  const entries =
    expect === undefined ? null : await entriesOf(await readInputText(session.context, expect), hash);
  const candidates = amount === undefined ? entries : [burnOfAmount(amount)];
  const opened = await session.service();
  const value = await verifyProof(opened, { tx, hash, candidates, pins: opened.pins });
  session.output.result(value, (style) => viewProof(value, opened.pins, style));
}

export const commands = {
  hash: defineCommand({
    configure: (command) => command.argument('<file>', 'proof file (a JSON object); - for standard input'),
    run: async ({ context }, [file]) => ({ hash: proofHash(readProof(await readInputText(context, file))) }),
    view: ({ hash }) => [hash],
    details: ['Hashes the canonical JSON (RFC 8785): white space and key order do not matter.'],
    output: ['{ "hash": sha256 }'],
    examples: ['flywheel proof hash proof.json', `echo '{"orderId":"A-1001"}' | flywheel proof hash -`],
  }),
  verify: defineCommand({
    configure: verifyOptions,
    run: verify,
    details: [
      'Reads the transaction from the local ledger or, with a remote API, from FLYWHEEL_RPC_URL. Needs no service.',
      'Decodes the burn and airdrops of this proof from the instructions, or from the batch, and compares them with',
      '--amount, or with the entry of --expect that has this proof, in base units of the pinned mint. Exits with 9 for a',
      'difference or an unreadable transaction. Without --amount and --expect it shows the amounts and compares nothing.',
    ],
    output: [
      '{ "verified": true, "txHash", "hash", "type", "slot", "dateLanded"?, "amounts": "agree"|"not compared"|"not told", "untold"?,',
      '  "entry"?, "moved": { "mint", "burned": { "amount", "baseUnits" }, "sent": [ { "account", "amount", "baseUnits" } ] }|null,',
      '  "balances": "agree"|"not kept" }',
    ],
    examples: [
      'flywheel proof verify --tx SIGNATURE --proof proof.json --amount 12.5',
      'flywheel proof verify --tx SIGNATURE --proof proof.json --expect pipelines.json',
    ],
  }),
};
