/** What a file of pipelines asks for, added up. */
import { digestText, pipelinesDigest, type SourcePipeline } from '../../chain/approval/pipelines.js';
import type { Pipeline, SupportedAction } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { proofHash } from '../../values/digest.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { sumAmounts } from '../burn-batch/totals.js';

/** What init would be asked for; amounts are whole tokens as decimal text. */
export interface PipelinesPlan {
  readonly dryRun: true;
  readonly pipelines: number;
  readonly actions: { readonly burn: number; readonly airdrop: number; readonly memo: number };
  readonly totalBurn: string;
  readonly totalAirdrop: string;
  /** `sha256:…`, as `batch approve --expect` takes it. */
  readonly digest: string;
}

const isSupported = (action: Pipeline['actions'][number]): action is SupportedAction =>
  action.action === 'BURN' || action.action === 'AIRDROP' || action.action === 'MEMO';

/**
 * Checked pipelines with their payloads hashed.
 * @throws `ERR_ACTION_NOT_SUPPORTED` for an action that is known and not available.
 */
export function toSourcePipelines(pipelines: readonly Pipeline[]): readonly SourcePipeline[] {
  return pipelines.map(({ type, payload, actions }, at) => {
    const proof = parseStrictJson(payload).value;
    if (!isJsonObject(proof))
      throw new FlywheelError('ERR_INPUT_INVALID', `pipelines[${at}].payload: expected a JSON object.`);
    const unknown = actions.findIndex((action) => !isSupported(action));
    if (unknown >= 0) {
      throw new FlywheelError(
        'ERR_ACTION_NOT_SUPPORTED',
        `pipelines[${at}].actions[${unknown}]: ${actions[unknown]?.action ?? ''} is not available.`,
      );
    }
    return { type, proofHash: proofHash(proof), actions: actions.filter(isSupported) };
  });
}

/** Adds up checked pipelines. */
export function planPipelines(pipelines: readonly Pipeline[]): PipelinesPlan {
  const sources = toSourcePipelines(pipelines);
  const actions = sources.flatMap((source) => source.actions);
  const burns = actions.flatMap((action) => (action.action === 'BURN' ? [action.amount] : []));
  const airdrops = actions.flatMap((action) => (action.action === 'AIRDROP' ? [action.amount] : []));
  return {
    dryRun: true,
    pipelines: sources.length,
    actions: {
      burn: burns.length,
      airdrop: airdrops.length,
      memo: actions.length - burns.length - airdrops.length,
    },
    totalBurn: sumAmounts(burns),
    totalAirdrop: sumAmounts(airdrops),
    digest: digestText(pipelinesDigest(sources)),
  };
}
