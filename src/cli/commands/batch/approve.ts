/** `flywheel batch approve`: the owner's signature, after everything was checked. */

import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { commandLine } from '../../operation/resume-line.js';
import { EXPECT_OPTION, KEYPAIR_OPTION } from '../../options/keypair.js';
import { FORCE_OPTION, outputFile, requireFree, writeOutput } from '../../output/output-file.js';

const configure = (command: Command) =>
  command
    .argument('<approval>', 'batch id, the file from `batch init`, base64, or - for standard input')
    .addOption(KEYPAIR_OPTION)
    .option('--wallet', 'sign with the Solana wallet of your browser; sent at once, the wallet pays')
    .addOption(EXPECT_OPTION)
    .option('--out <file>', 'also write the signed approval to this file')
    .addOption(FORCE_OPTION);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [source]: [string], options: Options): Promise<undefined> {
  if (options.wallet === true) {
    const { approveWithWallet } = await import('../../batch/wallet-approval.js');
    await approveWithWallet(session, source, options);
    return undefined;
  }
  const { context, settings } = session;
  const { out } = options;
  const outFile = outputFile(session, '--out', out, options);
  if (outFile !== null) requireFree(outFile);
  const [
    { keypairLocation, loadKeypair, requireKeypair },
    { readApproval },
    { readExpectation },
    { approveBatch },
  ] = await Promise.all([
    import('../../wallet/load-keypair.js'),
    import('../../batch/approval-source.js'),
    import('../../batch/expectation.js'),
    import('../../batch/approve-batch.js'),
  ]);
  const keypair = keypairLocation(context, settings, options.keypair);
  requireKeypair(context, keypair);
  const { expect } = options;
  const expectation = expect === undefined ? null : await readExpectation(session, expect);
  const approval = await readApproval(session, source);
  const signed = await approveBatch(session, {
    approval,
    signer: () => loadKeypair(context, keypair),
    expectation,
    mayBeApproved: false,
  });
  if ('alreadyApproved' in signed) {
    session.output.result(signed, () => [`Batch ${signed.batchId} is already approved. Nothing was signed.`]);
    return undefined;
  }
  const { batchId, signedTx } = signed;
  const body = { batchId, signedTx };
  if (outFile !== null) writeOutput(outFile, `${JSON.stringify(body)}\n`, { isPublic: true });
  session.output.result(body, (style) => [
    style.good(`Signed the approval of batch ${batchId}.`),
    signedTx,
    `Next: ${commandLine(settings, 'batch', 'execute', batchId, '--signed-tx', out === undefined ? 'BASE64' : `@${out}`)}`,
  ]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Reads the batch back from the chain, checks it, shows it and asks. Then signs exactly one approval of this batch.',
    'The last eight lines before the question sum the batch up. --verbose also shows members, rules and token.',
    'Without a terminal, --yes and --expect are required.',
    'With --wallet the owner signs and pays in a browser wallet (Phantom, Solflare, or a Ledger through them). The signed approval is',
    'checked and sent at once, and `batch execute` then needs neither --keypair nor --signed-tx.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "batchId": uuid, "signedTx": base64 }',
    'with --wallet: { "batchId": uuid, "approved": true, "signature" }',
    'already approved on chain: { "batchId": uuid, "alreadyApproved": true }',
  ],
  examples: [
    'flywheel batch approve 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --expect pipelines.json',
    'flywheel batch approve approval.json --keypair owner.json --expect pipelines.json --out signed.json',
    'flywheel batch approve approval.json --keypair owner.json --expect pipelines.json --yes --json',
    'flywheel batch approve 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --wallet --expect pipelines.json',
  ],
});
