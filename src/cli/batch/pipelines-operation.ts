/** A pipelines file as an operation of the journal, and its plan for `--dry-run`. */
import { pipelineContent, pipelinesDigest, type SourcePipeline } from '../../actions/pipelines.js';
import type { InitBatchRequest } from '../../contract/schemas/batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import { canonicalJson, isJsonObject, type JsonObject } from '../../values/canonical-json.js';
import { fingerprint } from '../../values/digest.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { knownDecimals, sumAmounts } from '../input/amount.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import { planPipelines, toSourcePipelines } from '../input/pipelines-plan.js';
import type { Input } from '../input/read-input.js';
import { isOver, type Notes, type OperationRequest } from '../journal/journal.js';
import { pipelinesDoneThere } from '../operation/done-there.js';
import { pipelineElements, warnOfEqual } from '../operation/elements.js';
import { runOperation, takenByDryRun, type Work } from '../operation/run-operation.js';
import type { HowOften } from '../options.js';
import { outlookOf } from '../send.js';
import { contentAlarms, type Summed } from '../views/approval.js';
import { viewPipelinesPlan } from '../views/batch.js';
import { againHint, earlierOf, repeatOf, requireUnpaid } from './approval-limits.js';
import { currentStage, partOf } from './batch-stages.js';
import { pinnedFlywheel } from './pins.js';

/** Payloads become canonical JSON, so that a file is the same request however its payloads are formatted. */
export async function checkedPipelines(
  session: Session,
  input: Input,
  dryRun: boolean,
): Promise<InitBatchRequest> {
  const read = readPipelinesFile(input, await knownDecimals(session, dryRun));
  const pipelines = read.pipelines.map((one) => ({ ...one, payload: canonicalPayload(one.payload) }));
  return { ...read, pipelines };
}

const canonicalPayload = (payload: string): string => {
  const proof = parseStrictJson(payload).value;
  invariant(isJsonObject(proof), 'A checked payload is an object.');
  return canonicalJson(proof);
};

const operationOf = (
  session: Session,
  request: InitBatchRequest,
  { origin, again, allowChanged }: HowOften,
  notes: Notes,
): OperationRequest => ({
  ...{ kind: 'batch', origin, again, allowChanged },
  content: fingerprint(request as unknown as JsonObject),
  body: () => JSON.stringify(request),
  notes: (taken) => ({ ...notes, stages: [{ indexes: taken }] }),
  command: session.commandLine,
  elements: pipelineElements(request.pipelines),
  taken: null,
});

/** @param work - `notes`: of a new operation, beside its stages */
export async function runBatchOperation<Result>(
  session: Session,
  request: InitBatchRequest,
  how: HowOften,
  work: Work<Result> & { readonly notes: Notes },
): Promise<void> {
  warnOfEqual(session, work.elements, 'pipeline', 'executed');
  await runOperation(session, operationOf(session, request, how, work.notes), work);
}

type Foreseen = Awaited<ReturnType<NonNullable<OpenedService['foresight']>['batch']>>;

export interface BatchPlan extends ReturnType<typeof planPipelines> {
  /** `null`: no forecast here. */
  readonly foreseen: Foreseen | null;
}

/**
 * @param signs - the command itself approves, so proofs that were paid before are refused.
 * @throws `ERR_INPUT_INVALID` for those, and all that the command would refuse
 */
export async function showPipelinesPlan(
  session: Session,
  whole: InitBatchRequest,
  how: HowOften,
  workOf: (session: Session) => Work<unknown>,
  signs: boolean,
): Promise<undefined> {
  const request = operationOf(session, whole, how, {});
  const taken = await takenByDryRun(session, request, workOf);
  const part = partOf(whole, taken);
  const { pipelines } = part;
  const equal =
    pipelines.length === 0
      ? []
      : warnOfEqual(session, pipelineElements(whole.pipelines), 'pipeline', 'executed');
  const outlook = await outlookOf(session);
  const opened = await session.service().catch(() => null);
  const journal = await opened?.journal();
  const entry = journal?.known(request);
  const stage = entry && currentStage(entry);
  // The costs of a batch that is set up are already counted.
  const isCounted = entry !== undefined && !isOver(entry.state) && stage?.note.batchId !== undefined;
  const foreseen =
    outlook.foresight === null || pipelines.length === 0 || isCounted
      ? null
      : await outlook.foresight.batch(part, outlook.credential);
  const plan = { ...planPipelines(pipelines), foreseen };
  const flywheel = pinnedFlywheel(opened?.pins ?? null);
  const sources = toSourcePipelines(pipelines);
  const decimals = flywheel?.decimals ?? mostFractionDigits(sources);
  const content = sources.map((source) => pipelineContent(source, decimals));
  const ask = pipelinesDoneThere({ ...session, isDryRun: true }, whole.pipelines);
  const setUp = async () => journal && (await ask([stage?.key ?? journal.keyOf(request)]))?.batch?.id;
  const repeat = repeatOf(entry, { ...how, setUp, hint: againHint(session) });
  const earlier = flywheel && (await earlierOf(session, flywheel, content, repeat));
  if (signs && earlier !== null) requireUnpaid(session, earlier, content, repeat);
  const alarms = earlier?.alarms ?? contentAlarms(content, { decimals, symbol: outlook.symbol });
  if (session.output.mode !== 'human') alarms.forEach(session.output.warn);
  const summed: Summed = {
    ...{ pipelines: content, digest: pipelinesDigest(sources), signer: flywheel?.owner ?? null, earlier },
    vault: foreseen?.vault ?? null,
    ...{ batch: null, mint: flywheel?.mint ?? null, withheld: null },
    costs: costsOf(foreseen),
  };
  const warnings = [...equal, ...alarms];
  session.output.result({ ...plan, warnings }, (style) =>
    viewPipelinesPlan(plan, { summed, decimals }, outlook.symbol, style),
  );
}

const costsOf = (foreseen: Foreseen | null): Summed['costs'] =>
  foreseen && {
    ...{ fees: BigInt(foreseen.costs.feeLamports), isBound: true },
    vaultRent: BigInt(foreseen.costs.vaultRentLamports),
    ...{ rent: BigInt(foreseen.costs.rentPaidLamports), isReturned: true },
  };

const mostFractionDigits = (sources: readonly SourcePipeline[]): number =>
  sources
    .flatMap(({ actions }) => actions)
    .reduce((most, action) => {
      const [, fraction = ''] = 'amount' in action ? sumAmounts([action.amount]).split('.') : [];
      return Math.max(most, fraction.length);
    }, 0);
