/** `flywheel batch init`: a file of pipelines becomes a batch that waits for the owner's approval. */
import { resolve } from 'node:path';
import type { CommandSpec, Invocation, Session } from '../../command.js';
import { readInputText } from '../../files/read-input.js';
import { checkWritable, writeFileAtomic } from '../../files/write-file.js';
import { IDEMPOTENCY_KEY_OPTION, parseIdempotencyKey } from '../../options/idempotency-key.js';
import { viewInitBatch } from '../../views/batch.js';

async function run(session: Session, invocation: Invocation): Promise<undefined> {
  const givenKey = parseIdempotencyKey(invocation);
  const out = invocation.option('out');
  const outFile = out === undefined ? undefined : resolve(session.context.cwd, out);
  const text = await readInputText(session.context, invocation.requiredArgument(0));
  const { checkedPipelines, initBatch } = await import('../../batch/init-batch.js');
  const dryRun = invocation.flag('dryRun');
  const request = await checkedPipelines(session, text, dryRun);
  if (outFile !== undefined) checkWritable(outFile);
  if (dryRun) {
    const [{ planPipelines }, { viewPipelinesPlan }] = await Promise.all([
      import('../../input/pipelines-plan.js'),
      import('../../views/pipelines-plan.js'),
    ]);
    const plan = planPipelines(request.pipelines);
    session.output.result(plan, (style) => viewPipelinesPlan(plan, style));
    return undefined;
  }
  const result = await initBatch(session, request, givenKey);
  if (outFile !== undefined) {
    writeFileAtomic(outFile, `${JSON.stringify(result)}\n`);
    session.output.notice(`The approval file is ${outFile}.`);
  }
  session.output.result(result, (style) => [
    ...viewInitBatch(result, style),
    `Next: flywheel batch approve ${out ?? 'FILE'} --keypair FILE`,
  ]);
  return undefined;
}

export const command: CommandSpec = {
  arguments: [{ syntax: '<pipelines>', description: 'pipelines file (JSON); - for standard input' }],
  options: [
    { flags: '--out <file>', description: 'write the response here: the approval file' },
    { flags: '--dry-run', description: 'check the whole file and add it up; send nothing' },
    IDEMPOTENCY_KEY_OPTION,
  ],
  details: [
    'The file is { "pipelines": [ { "type", "payload", "actions" } ] } or the bare list.',
    'A payload is the proof as JSON text or as an object; actions are BURN, AIRDROP and MEMO.',
  ],
  output: [
    '{ "proposalApproveTx": base64, "batch": { "id", "status": "FINALIZED", …, "initResult", "pipelines" } }',
    '--dry-run: { "dryRun": true, "pipelines", "actions", "totalBurn", "totalAirdrop", "digest" }',
  ],
  errors: [
    'ERR_INPUT_INVALID',
    'ERR_INVALID_PROOF',
    'ERR_ACTION_NOT_SUPPORTED',
    'ERR_PIPELINE_TOO_LARGE',
    'ERR_INSUFFICIENT_FUNDS',
    'ERR_DAILY_LIMIT_EXCEEDED',
    'ERR_KEY_SCOPES_UNAUTHORIZED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: [
    'flywheel batch init pipelines.json --dry-run',
    'flywheel batch init pipelines.json --out approval.json',
  ],
  run,
};
