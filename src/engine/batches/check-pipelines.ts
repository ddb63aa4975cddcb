/** Request → checked pipelines, and every problem with its pipeline and action index. */
import {
  actionContent,
  actionRecipients,
  actionWarning,
  isSourceAction,
  type SourceAction,
  totalOf,
  usageOf,
} from '../../actions/registry.js';
import { MAX_OBJECT_KEYS } from '../../contract/limits.js';
import { type Action, pipelineSchema } from '../../contract/schemas/batch.js';
import { checkInput, invalidRequest, listProblems, pathText } from '../../contract/validate.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject } from '../../values/canonical-json.js';
import type { Sha256 } from '../../values/digest.js';
import { createPause } from '../../values/event-loop.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { hashProof, type Refusal } from '../burns/elements.js';
import type { EngineLimits } from '../deps.js';
import { type Principal, permitsProofType, permittedTypesText } from '../operation.js';
import { MAX_ACTIONS_LOOKED_AT } from './plan-batch.js';

/** Places that a problem of several pipelines names. */
const MAX_PLACES = 10;
const MAX_ADDRESSES = 50;

export interface CheckedPipeline {
  readonly type: string;
  readonly payload: string;
  readonly proofHash: Sha256;
  readonly actions: readonly SourceAction[];
  readonly actionCount: number;
}

/** The common code of all problems, or `ERR_INVALID_REQUEST` when codes differ. */
export function batchRefused(problems: readonly Refusal[]): FlywheelError {
  const codes = new Set(problems.map(({ code }) => code));
  const [only] = codes;
  const code = codes.size === 1 && only !== undefined ? only : 'ERR_INVALID_REQUEST';
  const list = listProblems(problems.map(({ message }) => message));
  return new FlywheelError(code, `The batch is refused and nothing was created: ${list}.`);
}

/** @throws `ERR_INVALID_REQUEST` for a missing list or a list of wrong length; checked before any pipeline. */
export function pipelineList(request: unknown, { maxPipelines: most }: EngineLimits): readonly unknown[] {
  if (!isJsonObject(request)) throw invalidRequest(['expected { "pipelines": [ … ] }']);
  const { pipelines } = request;
  if (!Array.isArray(pipelines)) throw invalidRequest(['pipelines: expected a list of pipelines']);
  const unknown = Object.keys(request).find((key) => key !== 'pipelines');
  const problems = unknown === undefined ? [] : [`unknown key ${JSON.stringify(unknown.slice(0, 64))}`];
  if (pipelines.length === 0) problems.push('pipelines: expected at least one pipeline');
  if (pipelines.length > most)
    problems.push(`pipelines: a batch has at most ${most} pipelines, got ${pipelines.length}`);
  if (problems.length > 0) throw invalidRequest(problems);
  return pipelines;
}

/** @returns valid pipelines by index, all problems, and base units of all valid actions, also of pipelines with a problem. */
export async function checkPipelines(principal: Principal, list: readonly unknown[], limits: EngineLimits) {
  const pause = createPause();
  const checks = new PipelineChecks(principal, limits);
  const pipelines = new Map<number, CheckedPipeline>();
  for (const [index, value] of list.entries()) {
    const checked = checks.check(value, `pipelines[${index}]`);
    if (checked !== undefined) pipelines.set(index, checked);
    await pause();
  }
  const problems = [...checks.problems, ...checks.unknownTypes(), ...checks.warnings()];
  return { pipelines, problems, asked: checks.asked };
}

class PipelineChecks {
  readonly problems: Refusal[] = [];
  readonly asked = { burn: 0n, airdrop: 0n };
  /** Places of the pipelines with a type that is not permitted. */
  readonly #unknown = new Map<string, string[]>();
  /** Addresses with their places, by the reason not to send there. */
  readonly #warned = new Map<string, string[]>();

  constructor(
    private readonly principal: Principal,
    private readonly limits: EngineLimits,
  ) {}

  check(value: unknown, where: string): CheckedPipeline | undefined {
    const before = this.problems.length;
    const { actions, actionCount, pipeline } = shorten(value);
    const broken = this.#checkShape(pipeline, where);
    const { type, payload } = isJsonObject(pipeline) ? pipeline : {};
    const isKnown = typeof type !== 'string' || broken.has('type') || this.#checkType(type, where);
    const proofHash =
      typeof payload === 'string' && !broken.has('payload') ? this.#hash(payload, where) : undefined;
    const sound = actions.filter((action, at) => {
      const place = `actions[${at}]`;
      return !broken.has(place) && this.#checkAction(action as Action, `${where}.${place}`);
    });
    if (this.problems.length > before || sound.length < actions.length || proofHash === undefined || !isKnown)
      return undefined;
    const checked = { type: type as string, payload: payload as string, proofHash };
    return { ...checked, actions: sound as SourceAction[], actionCount };
  }

  #checkShape(pipeline: unknown, where: string): ReadonlySet<string> {
    const checked = checkInput(pipelineSchema, pipeline);
    if ('value' in checked) return new Set();
    const broken = new Set<string>();
    for (const { path, reason } of checked.issues) {
      const part = path[0] === 'actions' ? pathText(path.slice(0, 2)) : String(path[0]);
      broken.add(part);
      const place = pathText(path);
      const at = place === '' || place.startsWith('[') ? `${where}${place}` : `${where}.${place}`;
      this.#note('ERR_INVALID_REQUEST', `${at}: ${reason}`);
    }
    return broken;
  }

  #checkType(type: string, where: string): boolean {
    if (permitsProofType(this.principal, type)) return true;
    const places = this.#unknown.get(type);
    if (places === undefined) this.#unknown.set(type, [where]);
    else places.push(where);
    return false;
  }

  /** One problem for each type. */
  unknownTypes(): readonly Refusal[] {
    return Array.from(this.#unknown, ([type, places]) => {
      const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more` : '';
      const where = `${places.slice(0, MAX_PLACES).join(', ')}${more}${places.length === 1 ? '.type' : ''}`;
      const message = `${where}: the proof type ${JSON.stringify(type)} is unknown or not permitted (${permittedTypesText(this.principal)})`;
      return { code: 'ERR_INVALID_PROOF', message };
    });
  }

  #warn(warning: string, place: string): false {
    const places = this.#warned.get(warning);
    if (places === undefined) this.#warned.set(warning, [place]);
    else places.push(place);
    return false;
  }

  /** One problem for each reason, with its addresses. */
  warnings(): readonly Refusal[] {
    return Array.from(this.#warned, ([warning, places]) => {
      const count = places.length === 1 ? '' : `${places.length} recipients: `;
      const more = places.length > MAX_ADDRESSES ? ` and ${places.length - MAX_ADDRESSES} more` : '';
      const message = `${count}${warning}: ${places.slice(0, MAX_ADDRESSES).join(', ')}${more}`;
      return { code: 'ERR_INVALID_REQUEST', message };
    });
  }

  #hash(payload: string, where: string): Sha256 | undefined {
    try {
      // A value takes at least two bytes, so a proof with more values is too large anyway.
      const maxValues = Math.ceil(this.limits.maxProofBytes / 2);
      return hashProof(parseStrictJson(payload, { maxValues, maxKeys: MAX_OBJECT_KEYS }).value, this.limits);
    } catch (error) {
      const reason = (error as Error).message.replace(/^The proof is not valid: /, '').replace(/\.$/, '');
      this.#note('ERR_INVALID_PROOF', `${where}.payload: ${reason}`);
      return undefined;
    }
  }

  #checkAction(action: Action, where: string): action is SourceAction {
    if (!isSourceAction(action)) {
      this.#note('ERR_ACTION_NOT_SUPPORTED', `${where}: the action ${action.action} is not available`);
      return false;
    }
    const usage = usageOf(action);
    if (usage !== null && !this.principal.key.scopes.includes(usage)) {
      const text = `${where}: ${action.action} needs a key with the scope \`${usage}\``;
      this.#note('ERR_KEY_SCOPES_UNAUTHORIZED', text);
    }
    try {
      const { decimals, mintAddress } = this.principal.project;
      const content = actionContent(action, decimals);
      const warning = actionWarning(content, mintAddress);
      if (warning !== undefined)
        return this.#warn(warning, `${actionRecipients(content).join(', ')} (${where})`);
      if (usage !== null) this.asked[usage] += totalOf(usage, [content]);
      return true;
    } catch (error) {
      this.#note('ERR_INVALID_REQUEST', `${where}: ${(error as Error).message.replace(/\.$/, '')}`);
      return false;
    }
  }

  #note(code: ErrorCode, message: string): void {
    this.problems.push({ code, message });
  }
}

function shorten(value: unknown) {
  const all: unknown = isJsonObject(value) ? value['actions'] : undefined;
  if (!Array.isArray(all)) return { pipeline: value, actions: [], actionCount: 0 };
  const actions: unknown[] = all.slice(0, MAX_ACTIONS_LOOKED_AT);
  return { pipeline: { ...(value as object), actions }, actions, actionCount: all.length };
}
