/** Totals of a pipelines file. */
import type { Usage } from '../../actions/action.js';
import { digestText, pipelinesDigest, type SourcePipeline } from '../../actions/pipelines.js';
import { ACTION_NAMES, type ActionName, isSourceAction, usageOf } from '../../actions/registry.js';
import type { Action, ListedBatch, Pipeline } from '../../contract/schemas/batch.js';
import { FlywheelError, invalidInput } from '../../errors/flywheel-error.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { proofHash } from '../../values/digest.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { sumAmounts } from './amount.js';

/** Cached, because every step of a command needs the same list. */
const sourcesOf = new WeakMap<readonly Pipeline[], readonly SourcePipeline[]>();

/** @throws `ERR_ACTION_NOT_SUPPORTED` for an action of the specification that is not supported. */
export function toSourcePipelines(pipelines: readonly Pipeline[]): readonly SourcePipeline[] {
  const known = sourcesOf.get(pipelines);
  if (known !== undefined) return known;
  const sources = pipelines.map(({ type, payload, actions }, at) => {
    const proof = parseStrictJson(payload).value;
    if (!isJsonObject(proof)) throw invalidInput(`pipelines[${at}].payload: expected a JSON object.`);
    const unknown = actions.findIndex((action) => !isSourceAction(action));
    if (unknown >= 0) {
      throw new FlywheelError(
        'ERR_ACTION_NOT_SUPPORTED',
        `pipelines[${at}].actions[${unknown}]: ${actions[unknown]?.action ?? ''} is not available.`,
      );
    }
    return { type, proofHash: proofHash(proof), actions: actions.filter(isSourceAction) };
  });
  sourcesOf.set(pipelines, sources);
  return sources;
}

/** Amounts are whole tokens as decimal text. */
export function totalsOf(
  pipelines: readonly { readonly actions: readonly Action[] }[],
): ListedBatch['totals'] {
  const actions = pipelines.flatMap((pipeline) => pipeline.actions).filter(isSourceAction);
  const sum = (usage: Usage): string =>
    sumAmounts(actions.flatMap((one) => (usageOf(one) === usage && 'amount' in one ? [one.amount] : [])));
  const recipients = new Set(actions.flatMap((one) => ('toAddress' in one ? [one.toAddress] : [])));
  return {
    ...{ pipelines: pipelines.length, burn: sum('burn'), airdrop: sum('airdrop') },
    recipients: recipients.size,
  };
}

/** Amounts are whole tokens as decimal text; `actions` are counts by name in lower case. */
export function planPipelines(pipelines: readonly Pipeline[]) {
  const sources = toSourcePipelines(pipelines);
  const actions = sources.flatMap((source) => source.actions);
  const { burn, airdrop } = totalsOf(sources);
  const count = (name: ActionName): number => actions.filter(({ action }) => action === name).length;
  return {
    dryRun: true as const,
    pipelines: sources.length,
    actions: Object.fromEntries(ACTION_NAMES.map((name) => [name.toLowerCase(), count(name)])),
    ...{ totalBurn: burn, totalAirdrop: airdrop },
    digest: digestText(pipelinesDigest(sources)),
  };
}
