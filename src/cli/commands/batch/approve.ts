/** `flywheel batch approve`: the owner's signature, after everything was checked. */
import { resolve } from 'node:path';
import type { CommandSpec, Invocation, Session } from '../../command.js';
import { checkWritable, writeFileAtomic } from '../../files/write-file.js';
import { ALLOW_UNVERIFIED_OPTION, EXPECT_OPTION, KEYPAIR_OPTION } from '../../options/keypair.js';

async function run(session: Session, invocation: Invocation): Promise<undefined> {
  const { context, settings } = session;
  const out = invocation.option('out');
  const outFile = out === undefined ? undefined : resolve(context.cwd, out);
  if (outFile !== undefined) checkWritable(outFile);
  const [{ keypairLocation, loadKeypair }, { readApproval }, { readExpectation }, { approveBatch }] =
    await Promise.all([
      import('../../wallet/load-keypair.js'),
      import('../../batch/approval-source.js'),
      import('../../batch/expectation.js'),
      import('../../batch/approve-batch.js'),
    ]);
  const signer = await loadKeypair(context, keypairLocation(context, settings, invocation.option('keypair')));
  const expect = invocation.option('expect');
  const expectation = expect === undefined ? null : await readExpectation(session, expect);
  const approval = await readApproval(session, invocation.requiredArgument(0));
  const signed = await approveBatch(session, {
    approval,
    signer,
    expectation,
    allowUnverified: invocation.flag('allowUnverified'),
    mayBeApproved: false,
  });
  if (outFile !== undefined) writeFileAtomic(outFile, `${JSON.stringify(signed)}\n`);
  session.output.result(signed, (style) => [
    style.good(`Signed the approval of batch ${signed.batchId}.`),
    signed.signedTx,
    `Next: flywheel batch execute ${signed.batchId} --signed-tx ${out === undefined ? 'BASE64' : `@${out}`}`,
  ]);
  return undefined;
}

export const command: CommandSpec = {
  arguments: [
    { syntax: '<approval>', description: 'id of the batch, the file that `batch init` wrote, base64, or -' },
  ],
  options: [
    KEYPAIR_OPTION,
    EXPECT_OPTION,
    { flags: '--out <file>', description: 'write the signed approval here as well' },
    ALLOW_UNVERIFIED_OPTION,
  ],
  details: [
    'Nothing is signed that is not exactly one approval of this batch, and the batch is read back from chain.',
    'Without a terminal it needs --yes and --expect.',
  ],
  output: ['{ "batchId": uuid, "signedTx": base64 }'],
  errors: ['ERR_INPUT_INVALID', 'ERR_KEYPAIR_INVALID', 'ERR_APPROVAL_REFUSED', 'ERR_DECLINED'],
  examples: [
    'flywheel batch approve 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --expect pipelines.json',
    'flywheel batch approve approval.json --keypair owner.json --expect pipelines.json --out signed.json',
    'flywheel batch approve approval.json --keypair owner.json --expect pipelines.json --yes --json',
  ],
  run,
};
