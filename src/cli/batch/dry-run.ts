/** What a file of pipelines would do, without doing it. */
import type { BatchForesight } from '../../contract/dry-run.js';
import type { InitBatchRequest } from '../../contract/schemas/batch.js';
import type { Session } from '../command.js';
import { outlookOf } from '../dry-run.js';
import { type PipelinesPlan, planPipelines } from '../input/pipelines-plan.js';
import { takenByDryRun } from '../operation/dry-run.js';
import type { Preparation } from '../operation/run-operation.js';
import type { HowOften } from '../options.js';
import { viewPipelinesPlan } from '../views/batch.js';
import { operationOf } from './batch-operation.js';

/** The plan of `--dry-run`. */
export interface BatchPlan extends PipelinesPlan {
  /** `null`: nobody here can say. */
  readonly foreseen: BatchForesight | null;
}

/** Prints the plan of a checked file. @throws what the command, or init, would refuse it with. */
export async function showPipelinesPlan(
  session: Session,
  whole: InitBatchRequest,
  how: HowOften,
  workOf: (session: Session) => Preparation,
): Promise<undefined> {
  const taken = await takenByDryRun(session, operationOf(session, whole, how), workOf);
  const request = {
    pipelines: whole.pipelines.filter((_, index) => taken === null || taken.includes(index)),
  };
  const outlook = await outlookOf(session);
  const foreseen =
    outlook.foresight === null || request.pipelines.length === 0
      ? null
      : await outlook.foresight.batch(request, outlook.credential);
  const plan: BatchPlan = { ...planPipelines(request.pipelines), foreseen };
  session.output.result(plan, (style) => viewPipelinesPlan(plan, outlook, style));
}
