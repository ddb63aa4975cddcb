/** What a file of pipelines would do, without doing it. */
import type { InitBatchRequest } from '../../contract/schemas/batch.js';
import type { Session } from '../command.js';
import { planPipelines } from '../input/pipelines-plan.js';
import { viewPipelinesPlan } from '../views/pipelines-plan.js';

/** Prints the plan of a checked file. */
export function showPipelinesPlan(session: Session, { pipelines }: InitBatchRequest): undefined {
  const plan = planPipelines(pipelines);
  session.output.result(plan, (style) => viewPipelinesPlan(plan, style));
}
