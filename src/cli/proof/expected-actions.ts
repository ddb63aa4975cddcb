/** What somebody says was done for a proof: an amount that was burned, or the entry of a file that has this proof. */
import { isSourceAction, type SourceAction } from '../../actions/registry.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import { proofHash, type Sha256 } from '../../values/digest.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { readAmountText } from '../input/amount.js';
import { readBurnsFile } from '../input/burns-file.js';
import { textInput } from '../input/open-input.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import { inputError, type NamedText } from '../input/read-input.js';

/** One way in which it may have been done; a file may hold the same proof more than once. */
export interface Candidate {
  /** Completes "it was done as"; `null`: the option says so. */
  readonly place: string | null;
  readonly type: string | null;
  readonly actions: readonly SourceAction[];
}

/** A burn of so many whole tokens. @throws `ERR_INPUT_INVALID` */
export function burnOfAmount(text: string): Candidate {
  const amount = readAmountText(text);
  if ('problem' in amount) throw inputError('--amount', amount.problem);
  return { place: null, type: null, actions: [{ action: 'BURN', amount: amount.value }] };
}

/** The entries of a burns file or a pipelines file with this proof. @throws `ERR_INPUT_INVALID` where it has none. */
export async function entriesOf(file: NamedText, hash: Sha256): Promise<readonly Candidate[]> {
  const all = isPipelines(file) ? await pipelinesIn(file) : await burnsIn(file);
  const found = all.filter((entry) => entry.hash === hash);
  if (found.length > 0) return found;
  throw new FlywheelError('ERR_INPUT_INVALID', `${file.name} has no entry with the proof hash ${hash}.`);
}

type Entry = Candidate & { readonly hash: Sha256 };

/** Of the header of a table; one of burns has none. */
const ACTION_COLUMN = /(?:^|[,;\t"])action(?:[,;\t"]|$)/;

/** A list of entries that have actions, or an object that holds one. */
function isPipelines({ name, text }: NamedText): boolean {
  if (textInput({ name, text }).format === 'csv') return ACTION_COLUMN.test(text.split(/[\r\n]/, 1)[0] ?? '');
  try {
    const value: JsonValue = parseStrictJson(text).value;
    const list = isJsonObject(value) ? value['pipelines'] : value;
    return Array.isArray(list) && isJsonObject(list[0]) && 'actions' in list[0];
  } catch {
    // One object a line is no JSON as a whole.
    return false;
  }
}

const pipelinesIn = async (file: NamedText): Promise<readonly Entry[]> =>
  toSourcePipelines(readPipelinesFile(textInput(file), null).pipelines).map(
    ({ type, proofHash: hash, actions }, at) => ({
      ...{ place: `pipelines[${at}]`, type, hash },
      actions: actions.filter(isSourceAction),
    }),
  );

const burnsIn = async (file: NamedText): Promise<readonly Entry[]> =>
  readBurnsFile(textInput(file), null).map(({ type, proof, burnAmount: amount }, at) => ({
    ...{ place: `[${at}]`, type, hash: proofHash(proof) },
    actions: [{ action: 'BURN', amount }],
  }));
