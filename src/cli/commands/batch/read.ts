/** `flywheel batch` commands that read, from the service or decoded from chain. */
import { type Command, Option } from '@commander-js/extra-typings';
import { ACTION_NAMES } from '../../../actions/registry.js';
import {
  type Batch,
  batchStatusSchema,
  type ListedBatch,
  PIPELINE_STATES,
  type PipelineState,
} from '../../../contract/schemas/batch.js';
import type { InputOf } from '../../../contract/service.js';
import { FlywheelError, usageError } from '../../../errors/flywheel-error.js';
import { isUuid } from '../../../values/ids.js';
import { batchName, isBatchIndex, MAX_BATCH_INDEX, readApproval } from '../../batch/approval-source.js';
import { inspectBatch, verifyBatch } from '../../batch/inspect-batch.js';
import { batchFailure } from '../../batch/own-batch.js';
import { refuse, requirePins, requireReadable } from '../../batch/pins.js';
import { expectationOf, readExpectation, requireOwnMultisig, unitOfToken } from '../../batch/review.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { nextCommand } from '../../hints.js';
import { totalsOf } from '../../input/pipelines-plan.js';
import {
  given,
  listedItems,
  pageOptions,
  partOf,
  pipelineFilters,
  pipelineQuery,
  timesQuery,
} from '../../lists.js';
import { getBatch, isEnded, isFinal } from '../../operation/done-there.js';
import { EXPECT_OPTION, parseBatchId } from '../../options.js';
import type { Style } from '../../output/color.js';
import type { Columns } from '../../output/table.js';
import { callWith, noteReply } from '../../send.js';
import {
  actionWords,
  statusOf,
  totalFields,
  viewBatch,
  viewBatchList,
  viewPipelines,
} from '../../views/batch.js';

const MAX_LIMIT = 100_000;
const LIST_LIMIT = { most: MAX_LIMIT, fallback: 50 };

/** Below the service's limit of 10 requests a second. */
const POLL_MS = 1_000;

async function readBatch(session: Session, batchId: string): Promise<Batch> {
  const opened = await session.service();
  const reply = await opened.service.getBatch({ batchId }, callWith(session, opened));
  noteReply(session, reply, { isOpen: !isEnded(reply.value) });
  return reply.value;
}

/** For people: a batch with its totals, if its pipelines can be listed, and the command that approves it. */
async function screenOf(session: Session, batch: Batch): Promise<(style: Style) => readonly string[]> {
  if (session.output.mode !== 'human') return () => [];
  const { symbol } = await session.service();
  const pipelines = await pipelinesOf(session, { batchId: batch.id }).catch(() => null);
  session.context.signal.throwIfAborted();
  const totals = pipelines === null ? [] : totalFields(totalsOf(pipelines), symbol);
  const next = await nextLines(session, [batch]);
  return (style) => [...viewBatch(batch, style, totals), ...next];
}

const nextLines = async (session: Session, batches: readonly Batch[]): Promise<readonly string[]> =>
  Promise.all(
    batches
      .filter(({ status }) => status === 'FINALIZED')
      .map(async ({ id }) => `Next: ${await nextCommand(session, id)}`),
  );

async function pipelinesOf(
  session: Session,
  query: InputOf<'batchPipelines'>,
  part: ReturnType<typeof partOf> = { limit: MAX_LIMIT, cursor: undefined },
): Promise<readonly PipelineState[]> {
  const opened = await session.service();
  const call = callWith(session, opened);
  return listedItems(session, part, (page) => opened.service.batchPipelines({ ...query, ...page }, call));
}

/** Polls until the batch is final. In ndjson every state on the way is a line. */
async function watch(session: Session, batchId: string): Promise<Batch> {
  const { context, output, settings } = session;
  const limitSeconds = settings.waitSeconds.value;
  const endMs = context.clock.nowMs() + limitSeconds * 1_000;
  for (let last = ''; ; ) {
    const batch = await readBatch(session, batchId);
    if (isFinal(batch) || context.io.stdout.closed) return batch;
    if (output.mode === 'ndjson' && batch.dateUpdated !== last) output.jsonLine(batch);
    last = batch.dateUpdated;
    const leftMs = endMs - context.clock.nowMs();
    if (leftMs <= 0) {
      throw new FlywheelError(
        'ERR_TIMEOUT',
        `Batch ${batchId} is not finished after ${limitSeconds} s. Its status: ${statusOf(batch)}.`,
        { hint: 'Run the command again to keep waiting.' },
      );
    }
    output.progress.show(`waiting for the batch to finish (${statusOf(batch)}) …`);
    await context.sleep(Math.min(POLL_MS, leftMs));
  }
}

const LIST_CSV: Columns<ListedBatch> = {
  ...({ id: 'id', status: 'status', 'batch index': 'batchIndex' } as const),
  transactions: (batch) => batch.totals.pipelines,
  burns: (batch) => batch.totals.burn,
  airdrops: (batch) => batch.totals.airdrop,
  recipients: (batch) => batch.totals.recipients,
  executed: (batch) => batch.executeResult?.totalSuccessful,
  ...({ created: 'dateCreated', updated: 'dateUpdated', cancelled: 'dateCancelled' } as const),
  failed: (batch) => batch.executeResult?.failedTxMsg ?? batch.initResult?.failedTxMsg,
};

const listOptions = (command: Command) =>
  pageOptions(
    pipelineFilters(command, ACTION_NAMES)
      .addOption(new Option('--status <status>', 'only with this status').choices(batchStatusSchema.options))
      .option('--since <time>', 'only created at this time or later: 24h, yesterday, ISO 8601')
      .option('--until <time>', 'only created before this time'),
    `${LIST_LIMIT.fallback}; csv: all`,
  );

async function list(session: Session, _args: [], options: OptionsOf<typeof listOptions>): Promise<void> {
  const part = partOf(session, options, LIST_LIMIT);
  const { status } = options;
  const filter = { ...pipelineQuery(options), ...given({ status }), ...timesQuery(session, options) };
  const opened = await session.service();
  const call = callWith(session, opened);
  const batches = await listedItems(session, part, (page) =>
    opened.service.listBatches({ ...page, ...filter }, call),
  );
  const next = await nextLines(session, batches);
  await session.output.list(batches, LIST_CSV, (style) => viewBatchList(batches, opened.symbol, next, style));
}

const SHOW_CSV: Columns<PipelineState> = {
  ...({ index: 'index', type: 'type', state: 'state' } as const),
  actions: (pipeline) => pipeline.actions.map(actionWords).join('; '),
  ...({ 'proof hash': 'proofHash', transaction: 'txHash' } as const),
  ...({ executed: 'dateExecuted', message: 'message' } as const),
};

const showOptions = (command: Command) =>
  pageOptions(
    pipelineFilters(command.argument('<batchId>', 'batch id (UUID)'), ACTION_NAMES).addOption(
      new Option('--state <state>', 'only pipelines with this outcome').choices(PIPELINE_STATES),
    ),
    'all',
  );

async function show(session: Session, [id]: [string], options: OptionsOf<typeof showOptions>): Promise<void> {
  const batchId = parseBatchId(id);
  const part = partOf(session, options, { most: MAX_LIMIT, fallback: MAX_LIMIT });
  const { state } = options;
  const filter = { ...pipelineQuery(options), ...given({ state }) };
  const batch = await getBatch(session, batchId);
  const pipelines = await pipelinesOf(session, { batchId, ...filter }, part);
  const { symbol } = await session.service();
  const head = await screenOf(session, batch);
  await session.output.list(
    pipelines,
    SHOW_CSV,
    (style) => [...head(style), ...viewPipelines(pipelines, symbol, style)],
    { ...batch, pipelines },
  );
}

const inspectOptions = (command: Command) =>
  command.argument('<batch>', 'batch id, or the file from `batch init --out`').addOption(EXPECT_OPTION);

async function inspect(
  session: Session,
  [source]: [string],
  { expect }: OptionsOf<typeof inspectOptions>,
): Promise<void> {
  const chain = requireReadable(await session.service(), 'the batch cannot be inspected');
  const expectation = await expectationOf(session, expect);
  const approval = isUuid(source) ? null : await readApproval(session, source);
  const batch = approval?.batch ?? batchName(await getBatch(session, source));
  const { value, view } = await inspectBatch(session, chain, { batch, approval, expectation });
  session.output.result(value, view);
}

const verifyOptions = (command: Command) =>
  command
    .argument('[batchId]', 'batch id (UUID)')
    .requiredOption('--expect <file>', 'the pipelines file, or its digest (sha256:…)')
    .option('--batch-index <n>', 'index of the batch in the multisig, instead of the id; needs no service');

async function verify(
  session: Session,
  [id]: [string | undefined],
  { expect, batchIndex }: OptionsOf<typeof verifyOptions>,
): Promise<void> {
  if ((id === undefined) === (batchIndex === undefined))
    throw usageError('Give the batch id or --batch-index, not both.');
  const expectation = await readExpectation(session, expect);
  const opened = await session.service();
  const chain = requireReadable(opened, 'nothing can be verified');
  const pins = requirePins(opened.pins);
  const trusted = await opened.trusted();
  if (trusted === null) throw refuse(`The account ${pins.mint} is not a mint.`);
  const name = id === undefined ? null : batchName(await getBatch(session, parseBatchId(id)));
  if (name !== null) requireOwnMultisig(pins, name);
  const { value, view, failure } = await verifyBatch(chain, {
    batchId: name?.id ?? null,
    batchIndex: name?.batchIndex ?? parseIndex(batchIndex ?? ''),
    flywheel: trusted,
    expectation,
    unit: unitOfToken(opened, trusted),
  });
  session.output.result(value, view);
  if (failure !== undefined) throw failure;
}

function parseIndex(text: string): bigint {
  const index = /^[0-9]{1,20}$/.test(text) ? BigInt(text) : 0n;
  if (isBatchIndex(index)) return index;
  throw usageError(`--batch-index: expected a whole number from 1 to ${MAX_BATCH_INDEX}.`);
}

export const commands = {
  status: defineCommand({
    configure: (command) =>
      command
        .argument('<batchId>', 'batch id (UUID)')
        .option('--watch', 'wait until the batch is executed or failed; --wait limits the time'),
    run: async (session, [id], { watch: isWatched = false }) => {
      const batchId = parseBatchId(id);
      const batch = isWatched ? await watch(session, batchId) : await readBatch(session, batchId);
      session.output.result(batch, await screenOf(session, batch));
      const failure = isWatched ? batchFailure(session, batch) : undefined;
      if (failure !== undefined) throw failure;
    },
    output: [
      '{ "id", "flywheelId", "tokenId", "mintAddress", "status", "batchIndex", "vaultIndex", "multisig",',
      '  "vaultAddress", "initResult"?, "executeResult"?, "dateCreated", "dateUpdated" }',
    ],
    details: ['With --watch the exit code is 0 for an executed batch and 10 for a failed one.'],
    examples: [
      'flywheel batch status 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11',
      'flywheel batch status 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --watch --wait 120',
    ],
  }),
  current: defineCommand({
    run: async (session) => {
      const opened = await session.service();
      const reply = await opened.service.currentBatch(callWith(session, opened));
      const batch = reply.value;
      noteReply(session, reply, { isOpen: true });
      const view = batch === null ? () => ['No batch in progress.'] : await screenOf(session, batch);
      session.output.result(batch, view);
    },
    output: ['a batch, as `flywheel batch status` prints it, or null'],
    examples: ['flywheel batch current', 'flywheel batch current --json'],
  }),
  show: defineCommand({
    configure: showOptions,
    run: show,
    output: [
      '{ "id", "status", …, "pipelines": [ { "index", "type", "payload", "actions", "proofHash",',
      '  "state": "WAITING"|"EXECUTED"|"FAILED"|"NOT_EXECUTED", "txHash"?, "dateExecuted"?, "message"? } ] }',
    ],
    csv: SHOW_CSV,
    examples: [
      'flywheel batch show 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11',
      'flywheel batch show 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --state FAILED',
    ],
  }),
  list: defineCommand({
    configure: listOptions,
    run: list,
    details: [
      '--type, --action, --proof-hash and --recipient match any pipeline of a batch. `batch show` lists the outcomes. FINALIZED waits for approval, FAILED is also what was cancelled. A shorter list: --status, --since, --limit; or `--output ndjson` and jq for the fields you need.',
    ],
    output: [
      '[ { "id", "status", "totals": { "pipelines", "burn", "airdrop", "recipients" }, "batchIndex", "initResult"?, "executeResult"?, "dateCreated", … } ]',
    ],
    csv: LIST_CSV,
    examples: [
      'flywheel batch list --status FINALIZED --json',
      'flywheel batch list --since 2026-01-01 --action AIRDROP --output csv',
    ],
  }),
  inspect: defineCommand({
    configure: inspectOptions,
    run: inspect,
    details: [
      'Makes the checks of `batch approve`, limits included, and shows the same summary. Nothing is signed. "problem" is the reason for a refusal, or null.',
      '--verbose also shows members, rules, token, votes and costs.',
      'A closed batch is read from its transactions, if the RPC node still has them.',
    ],
    output: [
      '{ "batchId", "multisig", "batchIndex", "state", "closed", "vault", "creator", "proposal": { "address", "status"?,',
      '  "approved", "rejected", "cancelled" }, "facts"?, "executed", "transactions": [ { "number", "address",',
      '  "operations", "problem"?, "txHash"?, "dateExecuted"? } ], "pipelines", "decimals", "symbol", "totals",',
      '  "digest", "executedTotals"?, "costs"?, "changes"?, "problem", "warnings"? }',
    ],
    examples: [
      'flywheel batch inspect approval.json',
      'flywheel batch inspect 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --json',
    ],
  }),
  verify: defineCommand({
    configure: verifyOptions,
    run: verify,
    details: [
      'Reads only the chain: the pipelines of the batch, the transactions that executed them and, if the',
      'RPC node still has them, the balance changes of the token accounts.',
      'Exits with 9 if the batch differs from the file or was executed only in part.',
    ],
    output: [
      '{ "verified", "batchId", "multisig", "batchIndex", "digest", "expected", "transactions": [ { "index", "type", "proofHash",',
      '  "actions", "txHash", "dateExecuted"? } ], "totals", "balances": "agree"|"differ"|"not kept", "missing": [ index ],',
      '  "differences": [ text ] }',
    ],
    examples: [
      'flywheel batch verify 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --expect pipelines.json',
      'flywheel batch verify --batch-index 7 --expect pipelines.json --pins pins.json --json',
    ],
  }),
};
