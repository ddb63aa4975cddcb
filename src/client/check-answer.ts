/** Checks that an answer fits its request. One that contradicts it is not believed: the outcome of a POST is then unknown. */
import type { ElementOutcome } from '../contract/call.js';
import { DEFAULT_PAGE_ITEMS } from '../contract/limits.js';
import type { OperationId } from '../contract/operations.js';
import {
  ACTION_FIELDS,
  type Batch,
  type InitBatchRequest,
  type ListedBatch,
} from '../contract/schemas/batch.js';
import type { BurnResult } from '../contract/schemas/burn.js';
import type { AnswerOf, InputOf } from '../contract/service.js';
import { base58Decode } from '../values/bytes.js';
import { attributeOutcomes, knownHashes, knownHashesOfText } from './burn-outcomes.js';

export interface Finding {
  /** Without a full stop, like all texts here. */
  readonly contradiction?: string;
  /** A contradiction unless the answer has the id of the request. */
  readonly unproven?: string;
  readonly warnings: readonly Warning[];
  /** One per element of the request. */
  readonly outcomes?: readonly ElementOutcome[];
}

/** Reported once per kind and client. */
export interface Warning {
  readonly kind: 'foreign hash' | 'twins';
  readonly text: string;
}

type Check<Id extends OperationId> = (input: InputOf<Id>) => (answer: AnswerOf<Id>) => Finding;

type Contradiction = string | undefined;

const SUCCESS = 'SUCCESS';
const SIGNATURE_BYTES = 64;
const MAX_SIGNATURE_LENGTH = 88;
const MAX_SHOWN_LENGTH = 100;

const shown = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN_LENGTH));

const finding = (contradiction: Contradiction, warnings: readonly Warning[] = []): Finding => ({
  ...(contradiction === undefined ? {} : { contradiction }),
  warnings,
});

const foreignHash = (hash: string): Warning => ({
  kind: 'foreign hash',
  text: `The service hashes proofs differently (${shown(hash)}). \`proof hash\` and \`proof verify\` do not work with its hashes.`,
});

const noHash = (hash: string): string => `the hash ${shown(hash)} belongs to no proof that was sent`;

function twiceProblem(signatures: readonly string[]): Contradiction {
  const seen = new Set<string>();
  const twice = signatures.find((signature) => seen.size === seen.add(signature).size);
  return twice === undefined ? undefined : `it names the transaction ${shown(twice)} twice`;
}

/** @param name - of the field, for the message. */
function signatureProblem(signature: string, name: string): Contradiction {
  const bytes = signature.length > MAX_SIGNATURE_LENGTH ? undefined : base58Decode(signature);
  if (bytes?.length === SIGNATURE_BYTES) return undefined;
  return `${name} is ${shown(signature)}, which is not a transaction signature`;
}

function burnProblem(answer: BurnResult, name = ''): Contradiction {
  if (answer.result !== SUCCESS) return `${name}result is ${shown(answer.result)}, not "${SUCCESS}"`;
  return signatureProblem(answer.txHash, `${name}txHash`);
}

const checkBurn: Check<'burn'> = (request) => (answer) => {
  const type =
    answer.type === request.type ? undefined : `type is ${shown(answer.type)}, not ${shown(request.type)}`;
  if (knownHashes(request.proof).includes(answer.hash.toLowerCase()))
    return finding(burnProblem(answer) ?? type);
  return {
    ...finding(burnProblem(answer) ?? type, [foreignHash(answer.hash)]),
    unproven: noHash(answer.hash),
  };
};

const checkBurnBatch: Check<'burnBatch'> = (request) => (answer) => {
  const { outcomes, problem, foreignHash: hash, doubt } = attributeOutcomes(request, answer);
  const entry = answer.success.map((each, at) => burnProblem(each, `success[${at}].`)).find(Boolean);
  const warnings = [
    ...(hash === undefined ? [] : [foreignHash(hash)]),
    ...(doubt === undefined ? [] : [twins(doubt)]),
  ];
  const twice = twiceProblem(answer.success.map(({ txHash }) => txHash));
  return {
    ...finding(entry ?? problem ?? twice, warnings),
    ...(hash === undefined ? {} : { unproven: noHash(hash) }),
    outcomes,
  };
};

const twins = (indexes: string): Warning => ({
  kind: 'twins',
  text: `Entries ${indexes} of a request have the same type and proof but differ otherwise. The service does not say which of them burned and which failed.`,
});

interface Counts {
  readonly total: number;
  readonly totalSuccessful: number;
  readonly totalFailed: number;
  readonly successfulExecutions: readonly { readonly txHashes: readonly string[] }[];
}

const hashesOf = (counts: Counts | undefined): readonly string[] =>
  counts?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];

/**
 * @param isWhole - every successful transaction is listed. An execution does not list transactions that members executed
 * themselves.
 */
function countsProblem(counts: Counts | undefined, name: string, isWhole = false): Contradiction {
  if (counts === undefined) return undefined;
  const { total, totalSuccessful, totalFailed } = counts;
  const said = `${name}.total ${total}, totalSuccessful ${totalSuccessful}, totalFailed ${totalFailed}`;
  if (Math.min(total, totalSuccessful, totalFailed) < 0) return `${said}: a number is negative`;
  if (total !== totalSuccessful + totalFailed) return `${said}: they do not add up`;
  const hashes = hashesOf(counts);
  // A group may have paid a tip, which is listed and not counted.
  const tips = hashes.length - totalSuccessful;
  if ((isWhole && tips < 0) || tips > counts.successfulExecutions.length)
    return `${said}: it lists ${hashes.length} transactions`;
  const twice = twiceProblem(hashes);
  if (twice !== undefined) return `${name}: ${twice}`;
  const broken = hashes.find((hash) => signatureProblem(hash, name) !== undefined);
  return broken === undefined ? undefined : signatureProblem(broken, `${name}: a transaction`);
}

const batchProblem = ({ initResult, executeResult }: Batch): Contradiction =>
  countsProblem(initResult, 'initResult', true) ??
  countsProblem(executeResult, 'executeResult') ??
  twiceProblem([...hashesOf(initResult), ...hashesOf(executeResult)]);

const idProblem = (asked: string, answered: string, name: string): Contradiction =>
  asked.toLowerCase() === answered.toLowerCase() ? undefined : `${name} is ${answered}, not ${asked}`;

const thisBatchProblem = (
  { batchId }: { readonly batchId: string },
  batch: Batch,
  name: string,
): Contradiction => idProblem(batchId, batch.id, name) ?? batchProblem(batch);

const checkCancelBatch: Check<'cancelBatch'> = (request) => (answer) => {
  const { ownerVoteNeeded, cancelTx, batch } = answer;
  if (ownerVoteNeeded && cancelTx === undefined)
    return finding('ownerVoteNeeded is true, and there is no cancelTx');
  if (!ownerVoteNeeded && batch === undefined)
    return finding('ownerVoteNeeded is false, and there is no batch');
  // Cancelling an executed batch may close its accounts.
  if (!ownerVoteNeeded && batch?.dateCancelled === undefined && batch?.status !== 'EXECUTED')
    return finding('ownerVoteNeeded is false, and the batch is not cancelled');
  return finding(batch === undefined ? undefined : thisBatchProblem(request, batch, 'batch.id'));
};

const OLD_COPY = "it does not have this request's x-request-id, so a cache may have kept it";

/** @param names - fields that the query can filter by. */
const checkPage =
  <Id extends 'listBatches' | 'batchPipelines' | 'listBurns' | 'history'>(...names: string[]): Check<Id> =>
  (query) =>
  (answer) => {
    const items: readonly object[] = answer.items;
    const { limit = DEFAULT_PAGE_ITEMS, ...asked } = query as Readonly<Record<string, unknown>>;
    const hashes = asked['proofHash'] === undefined ? null : String(asked['proofHash']).split(',');
    const fits = (item: object): boolean => {
      // Burns and rows of the history call it `hash`, pipelines `proofHash`. A batch has none.
      const hash = Reflect.get(item, 'proofHash') ?? Reflect.get(item, 'hash');
      const isHashed = hashes === null || hash === undefined || hashes.includes(hash);
      return isHashed && names.every((name) => [undefined, Reflect.get(item, name)].includes(asked[name]));
    };
    const other = items.findIndex((item) => !fits(item));
    const broken = items.map((item, at) => {
      const { txHash }: { readonly txHash?: string } = item;
      return txHash === undefined ? undefined : signatureProblem(txHash, `items[${at}].txHash`);
    });
    const tooMany = items.length > Number(limit);
    const problem =
      (tooMany ? `it has ${items.length} items, but at most ${limit} were requested` : undefined) ??
      (other < 0 ? undefined : `items[${other}] was not requested`) ??
      broken.find(Boolean);
    return { ...finding(problem), unproven: OLD_COPY };
  };

function scaled(text: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(decimals, '0').slice(0, decimals));
}

const checkReport: Check<'report'> = () => (answer) => {
  const { rows, total, decimals } = answer;
  const differing = (['burned', 'airdropped'] as const).find((name) => {
    const texts = [total, ...rows].map((sums) => sums[name]);
    if (!texts.every((text) => /^\d+(?:\.\d+)?$/.test(text))) return true;
    const [all = 0n, ...parts] = texts.map((text) => scaled(text, decimals));
    return parts.reduce((sum, part) => sum + part, 0n) !== all;
  });
  return finding(differing && `total.${differing} is not the sum of the rows`);
};

type SentPipeline = InitBatchRequest['pipelines'][number];

/** A service may write the same JSON value in another way. */
function samePayload(sent: string, answered: string): boolean {
  if (sent === answered) return true;
  const known = new Set(knownHashesOfText(sent));
  return knownHashesOfText(answered).some((hash) => known.has(hash));
}

const sameActions = (sent: SentPipeline['actions'], answered: SentPipeline['actions']): boolean =>
  sent.length === answered.length &&
  sent.every((action, at) =>
    ACTION_FIELDS.every((field) => Reflect.get(action, field) === Reflect.get(answered[at] ?? {}, field)),
  );

function pipelineProblem(
  sent: SentPipeline,
  answered: AnswerOf<'initBatch'>['batch']['pipelines'][number] | undefined,
  at: number,
): Contradiction {
  const name = `batch.pipelines[${at}]`;
  if (answered === undefined) return `${name} is missing`;
  if (answered.type !== sent.type) return `${name}.type is ${shown(answered.type)}, not ${shown(sent.type)}`;
  if (!samePayload(sent.payload, answered.payload))
    return `${name}.payload differs from the one that was sent`;
  return sameActions(sent.actions, answered.actions)
    ? undefined
    : `${name}.actions differ from those that were sent`;
}

const checkInitBatch: Check<'initBatch'> =
  ({ pipelines: sent }) =>
  (answer) => {
    const { batch } = answer;
    const { pipelines } = batch;
    const count =
      pipelines.length === sent.length
        ? undefined
        : `the number of its pipelines is ${pipelines.length}, but ${sent.length} were sent`;
    const differing = sent.map((each, at) => pipelineProblem(each, pipelines[at], at)).find(Boolean);
    const foreign = pipelines.find(
      ({ proofHash }, at) => !knownHashesOfText(sent[at]?.payload ?? '').includes(proofHash.toLowerCase()),
    );
    return finding(
      count ?? differing ?? batchProblem(batch),
      foreign === undefined ? [] : [foreignHash(foreign.proofHash)],
    );
  };

export const CHECKS: { readonly [Id in OperationId]: Check<Id> } = {
  burn: checkBurn,
  burnBatch: checkBurnBatch,
  getBatch: (request) => (answer) => finding(thisBatchProblem(request, answer, 'id')),
  currentBatch: () => (answer) => finding(answer === null ? undefined : batchProblem(answer)),
  initBatch: checkInitBatch,
  executeBatch: (request) => (answer) =>
    finding(idProblem(request.batchId, answer.batchId, 'batchId') ?? countsProblem(answer.result, 'result')),
  listBatches: (query) => (answer) => {
    const page = checkPage<'listBatches'>('status')(query)(answer);
    return { ...finding(answer.items.map(batchProblem).find(Boolean)), ...page };
  },
  listBurns: checkPage('type', 'status', 'txHash'),
  history: checkPage('action', 'type', 'toAddress', 'txHash', 'batchId'),
  report: checkReport,
  describeKey: () => () => ({ ...finding(undefined), unproven: OLD_COPY }),
  batchPipelines: checkPage('type', 'state', 'txHash'),
  issueApproval: (request) => (answer) => finding(thisBatchProblem(request, answer.batch, 'batch.id')),
  cancelBatch: checkCancelBatch,
};

type NamedBatch = Pick<Batch, 'id' | 'multisig' | 'batchIndex' | 'status'>;

function batchesIn(answer: AnswerOf<OperationId>): readonly NamedBatch[] {
  if (answer === null) return [];
  const all = 'items' in answer ? answer.items : 'batch' in answer ? [answer.batch] : [answer];
  return all.filter((one): one is ListedBatch => one !== undefined && 'batchIndex' in one && 'id' in one);
}

const placeOf = ({ multisig, batchIndex }: NamedBatch): string => `number ${batchIndex} of ${multisig}`;

/** Before its set-up begins, a batch may take another number. */
const isPlaced = ({ status }: NamedBatch): boolean => status !== 'AVAILABLE_TO_QUEUE';

/**
 * Place on chain of each batch, from earlier answers. A later answer must not move a batch id to another place, because a vote
 * for that id would then apply to another batch.
 */
export class KnownBatches {
  readonly #places = new Map<string, string>();

  /** @returns a contradiction with an earlier answer */
  problem(answer: AnswerOf<OperationId>): Contradiction {
    for (const batch of batchesIn(answer)) {
      const before = this.#places.get(batch.id.toLowerCase());
      if (before !== undefined && isPlaced(batch) && before !== placeOf(batch))
        return `batch ${batch.id} is ${placeOf(batch)}, but an earlier answer said ${before}`;
    }
    return undefined;
  }

  remember(answer: AnswerOf<OperationId>): void {
    for (const batch of batchesIn(answer))
      if (isPlaced(batch)) this.#places.set(batch.id.toLowerCase(), placeOf(batch));
  }
}
