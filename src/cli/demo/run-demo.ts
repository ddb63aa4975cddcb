/** The steps of the demo: set up, burn, burn a file, run a batch through the multisig, compare the balances. */
import type {
  Batch,
  ExecuteBatchResult,
  ExecuteResult,
  InitBatchResult,
} from '../../contract/schemas/batch.js';
import type { BurnBatchResult, BurnResult } from '../../contract/schemas/burn.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { formatTokenAmount, parseTokenAmount, tokenAmountFromNumber } from '../../values/token-amount.js';
import type { Session } from '../command.js';
import type { LocalInitResult, LocalStatusResult } from '../context.js';
import { shellLine } from '../shell-line.js';
import { countText, tokensText } from '../views/unit.js';
import type { DemoFiles } from './files.js';
import { runCommand } from './run-command.js';

/** What the demo did. */
interface DemoReport {
  readonly folder: string;
  readonly dataDir: string;
  /** Commands that can be run again, in order. */
  readonly commands: readonly string[];
  readonly before: Balances;
  readonly after: Balances;
  readonly batch: Batch;
  readonly result: ExecuteResult;
}

/** Whole tokens as decimal text. */
export interface Balances {
  readonly supply: string;
  readonly burned: string;
  readonly vault: string;
  readonly burnWallet: string;
}

export interface Stage {
  readonly session: Pick<Session, 'context' | 'cli'>;
  readonly folder: string;
  readonly dataDir: string;
  readonly files: DemoFiles;
  /** Says a sentence or a command to the reader. */
  readonly say: (text: string, kind: 'step' | 'command' | 'detail') => void;
}

/** What its token is called. */
export const SYMBOL = 'DEMO';

const balancesOf = ({ supply, burned, balances }: LocalStatusResult): Balances => ({
  supply,
  burned,
  vault: balances.vault.tokens,
  burnWallet: balances.burnWallet.tokens,
});

/**
 * Runs the demo.
 * @throws `ERR_INTERNAL` when anything did not happen as it should.
 */
export async function runDemo(stage: Stage): Promise<DemoReport> {
  const { files, say, folder, dataDir } = stage;
  const commands: string[] = [];
  const run = async <Value>(step: string, ...words: readonly string[]): Promise<Value> => {
    const line = [...words, '--local', '--data-dir', dataDir];
    say(step, 'step');
    say(shellLine(['flywheel', ...line]), 'command');
    commands.push(shellLine(['flywheel', ...line]));
    return runCommand<Value>(stage.session, line);
  };
  const local = await run<LocalInitResult>(
    'Set up a token, a funded vault, a multisig of owner and operator, and an API key.',
    ...['local', 'init', '--name', 'Demo Token', '--symbol', SYMBOL],
  );
  say(`mint ${local.mintAddress}, multisig ${local.multisig}`, 'detail');
  const before = balancesOf(await run('Show the balances.', 'local', 'status'));
  sayBalances(stage, before);
  const burn = await run<BurnResult>(
    'A customer bought something: burn tokens and record the proof on chain.',
    ...['burn', '--type', 'PRODUCT_BUY', '--proof', `@${files.proof}`],
    ...['--amount', String(files.singleBurn), '--persist-onchain'],
  );
  say(`transaction ${burn.txHash}`, 'detail');
  const batchBurn = await run<BurnBatchResult>('Burn for each entry of a file.', 'burn-batch', files.burns);
  say(
    `${countText(batchBurn.success.length, 'burn')} succeeded, ${batchBurn.errors.length} failed`,
    'detail',
  );
  const { batch, result } = await runPipelines(stage, local, run);
  const after = balancesOf(await run('Show the balances again.', 'local', 'status'));
  sayBalances(stage, after);
  checkStory(stage, local.decimals, { before, after, batch, result });
  return { folder, dataDir, commands, before, after, batch, result };
}

async function runPipelines(
  { files, say }: Stage,
  local: LocalInitResult,
  run: <Value>(step: string, ...words: readonly string[]) => Promise<Value>,
): Promise<{ batch: Batch; result: ExecuteResult }> {
  const { batch } = await run<InitBatchResult>(
    `Set up a batch with ${files.pipelineCount} pipelines of burns, airdrops and memos.`,
    ...['batch', 'init', files.pipelines, '--out', files.approval],
  );
  say(`batch ${batch.id} is ${batch.status}`, 'detail');
  await run(
    'Approve as the owner. The batch is read back from the chain and must equal the file.',
    ...['batch', 'approve', files.approval, '--keypair', local.owner.keypair],
    ...['--expect', files.pipelines, '--yes', '--out', files.signed],
  );
  const { result } = await run<ExecuteBatchResult>(
    'Execute. The operator approves too, and each pipeline runs as one transaction.',
    ...['batch', 'execute', batch.id, '--signed-tx', `@${files.signed}`],
  );
  for (const { txHashes } of result.successfulExecutions)
    for (const hash of txHashes) say(`transaction ${hash}`, 'detail');
  const final = await run<Batch>('Show the batch.', 'batch', 'status', batch.id);
  say(
    `batch ${final.id} is ${final.status}: ${result.totalSuccessful} of ${countText(result.total, 'transaction')}`,
    'detail',
  );
  return { batch: final, result };
}

function sayBalances({ say }: Stage, { supply, burned, vault, burnWallet }: Balances): void {
  const shown = Object.entries({ supply, burned, vault, 'burn wallet': burnWallet });
  say(shown.map(([name, amount]) => `${name} ${tokensText(amount, SYMBOL)}`).join(', '), 'detail');
}

/** Holds the balances against what the files asked for, to the last base unit. */
function checkStory(
  { files }: Stage,
  decimals: number,
  { before, after, batch, result }: Pick<DemoReport, 'before' | 'after' | 'batch' | 'result'>,
): void {
  const units = (text: string): bigint => (Number(text) === 0 ? 0n : parseTokenAmount(text, decimals));
  const sum = (amounts: readonly number[]): bigint =>
    amounts.reduce((total, amount) => total + tokenAmountFromNumber(amount, decimals), 0n);
  const fromWallet = sum([files.singleBurn, ...files.burnAmounts]);
  const burnedByBatch = sum(files.pipelineBurns);
  const facts: readonly (readonly [string, bigint, bigint])[] = [
    ['burned', units(after.burned) - units(before.burned), fromWallet + burnedByBatch],
    ['taken from the supply', units(before.supply) - units(after.supply), fromWallet + burnedByBatch],
    ['taken from the burn wallet', units(before.burnWallet) - units(after.burnWallet), fromWallet],
    ['taken from the vault', units(before.vault) - units(after.vault), burnedByBatch + sum(files.airdrops)],
  ];
  for (const [what, actual, expected] of facts) {
    if (actual === expected) continue;
    const [was, wanted] = [actual, expected].map((amount) =>
      formatTokenAmount(amount < 0n ? -amount : amount, decimals),
    );
    throw new FlywheelError(
      'ERR_INTERNAL',
      `The demo does not add up: ${was} were ${what}, expected ${wanted}.`,
    );
  }
  if (batch.status !== 'EXECUTED' || result.totalSuccessful !== files.pipelineCount)
    throw new FlywheelError('ERR_INTERNAL', `The demo's batch is ${batch.status}, not EXECUTED.`);
}
