/** What may go wrong, as it is written down: a list of rules, each with a fault, how often it comes, and for which methods. */
import { FlywheelError } from '../../errors/flywheel-error.js';

/** Faults with the numbers or words that they take, and what holds where none is given. */
const FAULTS = {
  /** `sendTransaction` answers, and the transaction goes nowhere. */
  drop: {},
  /** It lies about for some slots before it gets into a block. */
  late: { slots: 5 },
  /** It goes to the leaders twice, and whoever waits for it is told twice. */
  duplicate: {},
  /** It changes places with others of its block. */
  reorder: {},
  /** It, and every repeat of it, lies about until its blockhash is too old. */
  expire: {},
  /** Its block is on a fork that the cluster leaves after some slots; then it lands once more, or never. */
  rollback: { slots: 5, lost: false },
  /** The answer is from a state some slots ago. */
  behind: { slots: 20 },
  /** Blocks older than some slots are gone. */
  prune: { slots: 100 },
  /** HTTP 429 with `retry-after`. */
  busy: { seconds: 1 },
  /** HTTP 503. */
  unavailable: {},
  /** An answer that is none: `html`, `text`, `id` (of another question), `shape`, `empty` or `cut`. */
  wrong: { as: 'html' },
  /** The question is never looked at and never answered. */
  hang: {},
  /** What was asked is done, and the answer never comes. */
  unanswered: {},
  /** The connection is closed without an answer. */
  hangup: {},
  /** A notification is not sent. */
  mute: {},
} as const;

/** The name of a fault. */
export type FaultName = keyof typeof FAULTS;

/** How an answer may be wrong. */
export const WRONG_ANSWERS = ['html', 'text', 'id', 'shape', 'empty', 'cut'] as const;
export type WrongAnswer = (typeof WRONG_ANSWERS)[number];

/** One rule as it is written down. */
export interface FaultRule {
  readonly fault: FaultName;
  /** How often it comes, from 0 to 1. @default 1 */
  readonly rate?: number;
  /** Methods that it may come to. @default all */
  readonly methods?: readonly string[];
  /** How often it may come in all. @default without end */
  readonly times?: number;
  /** Occasions that are let pass first. @default 0 */
  readonly after?: number;
  readonly slots?: number;
  readonly seconds?: number;
  readonly lost?: boolean;
  readonly as?: WrongAnswer;
}

const COMMON = ['rate', 'methods', 'times', 'after'];

const refuse = (at: number, message: string): never => {
  throw new FlywheelError('ERR_INPUT_INVALID', `Faults: rule ${at + 1}: ${message}.`);
};

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const isName = (value: unknown): value is FaultName =>
  typeof value === 'string' && Object.hasOwn(FAULTS, value);

const COUNT = [isCount, 'a whole number from 0 on'] as const;

/** What each field takes, and in words. */
const FIELDS: Readonly<Record<string, readonly [fits: (value: unknown) => boolean, words: string]>> = {
  rate: [(rate) => typeof rate === 'number' && rate >= 0 && rate <= 1, 'a number from 0 to 1'],
  methods: [
    (methods) => Array.isArray(methods) && methods.every((name) => typeof name === 'string'),
    'a list of names',
  ],
  times: COUNT,
  after: COUNT,
  slots: COUNT,
  seconds: COUNT,
  lost: [(lost) => typeof lost === 'boolean', 'true or false'],
  as: [(as) => WRONG_ANSWERS.some((name) => name === as), `one of ${WRONG_ANSWERS.join(', ')}`],
};

function checkFields(rule: Readonly<Record<string, unknown>>, at: number, fault: FaultName): void {
  for (const [field, value] of Object.entries(rule)) {
    if (field === 'fault') continue;
    const [fits, words] = FIELDS[field] ?? [];
    const isKnown = COMMON.includes(field) || field in FAULTS[fault];
    if (!isKnown || fits === undefined) refuse(at, `${fault} has no field ${JSON.stringify(field)}`);
    else if (!fits(value)) refuse(at, `${field} is ${words}`);
  }
}

/**
 * Rules from JSON: a list, each `{ "fault": NAME, … }`.
 * @throws `ERR_INPUT_INVALID` naming the rule and what is wrong with it.
 */
export function readFaultRules(json: unknown): readonly FaultRule[] {
  if (!Array.isArray(json)) throw new FlywheelError('ERR_INPUT_INVALID', 'Faults: expected a list of rules.');
  return json.map((rule: unknown, at) => {
    if (typeof rule !== 'object' || rule === null) return refuse(at, 'it is no object');
    const fields = rule as Readonly<Record<string, unknown>>;
    const { fault } = fields;
    if (!isName(fault)) return refuse(at, `fault is one of ${Object.keys(FAULTS).join(', ')}`);
    checkFields(fields, at, fault);
    return { ...FAULTS[fault], ...fields } as FaultRule;
  });
}
