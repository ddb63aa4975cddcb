/** `flywheel demo`: sets up a project and runs a batch on the embedded engine; its commands and files can be used again. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeypair } from '../../chain/transaction/sign.js';
import type { Batch } from '../../contract/schemas/batch.js';
import type { AnswerOf } from '../../contract/service.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { writeFileAtomic } from '../../files/write-file.js';
import { addressFromBytes } from '../../values/address.js';
import { defineCommand, type Session } from '../command.js';
import type { Answer, OutputStream } from '../context.js';
import { safeText } from '../output/safe-text.js';
import { wrapText } from '../output/table.js';
import { shellLine } from '../shell-line.js';
import { statusOf } from '../views/batch.js';
import { countText, tokensText } from '../views/unit.js';

const SYMBOL = 'DEMO';

function somePipelines() {
  const [first, second, third] = [1, 2, 3].map(() => addressFromBytes(generateKeypair().slice(32)));
  const burn = (amount: number) => ({ action: 'BURN', amount });
  const airdrop = (toAddress: string | undefined, amount: number) => ({
    action: 'AIRDROP',
    toAddress,
    amount,
  });
  const memo = (message: string) => ({ action: 'MEMO', message });
  const buy = (orderId: string, ...actions: readonly object[]) => ({
    ...{ type: 'PRODUCT_BUY', payload: { orderId }, actions },
  });
  const watch = (viewId: string, ...actions: readonly object[]) => ({
    ...{ type: 'WATCH_AD', payload: { viewId }, actions },
  });
  return [
    buy('B-2001', burn(10)),
    buy('B-2002', burn(5.5), memo('5.5 tokens less')),
    buy('B-2003', burn(2), airdrop(first, 3)),
    watch('w-1', airdrop(second, 1.25)),
    watch('w-2', airdrop(third, 0.5), memo('thank you for watching')),
    watch('w-3', memo('nothing but a note')),
    buy('B-2004', burn(1), airdrop(first, 1), memo('both at once')),
  ];
}

/** Whole tokens as decimal text. */
const balancesOf = ({ supply, burned, balances }: Answer<'status'>) => ({
  ...{ supply, burned, vault: balances.vault.tokens },
});

function buffer(): OutputStream & { readonly text: () => string } {
  const parts: string[] = [];
  return {
    write: (text) => void parts.push(text),
    flush: async () => null,
    ...{ isTTY: false, columns: 100, closed: false },
    text: () => parts.join(''),
  };
}

/**
 * Runs a command line and parses the JSON that it prints. The user's FLYWHEEL_ variables and profiles are left out: they could
 * select another service.
 * @throws `ERR_INTERNAL` with the command's stderr, unless the exit code is 0
 */
async function runCommand<Value>(
  { context, run }: Session,
  configDir: string,
  words: readonly string[],
): Promise<Value> {
  const [stdout, stderr] = [buffer(), buffer()];
  const isKept = ([name]: readonly [string, unknown]): boolean =>
    !name.startsWith('FLYWHEEL_') || name === 'FLYWHEEL_DEBUG';
  const kept = Object.fromEntries(Object.entries(context.env).filter(isKept));
  const env = { ...kept, FLYWHEEL_CONFIG_DIR: configDir };
  const exit = await run({ ...context, io: { ...context.io, stdout, stderr }, env }, words);
  if (exit === 0) return JSON.parse(stdout.text()) as Value;
  throw new FlywheelError(
    'ERR_INTERNAL',
    `${shellLine(['flywheel', ...words])} ended with exit code ${exit}: ${safeText(stderr.text()).trim()}`,
    { exit },
  );
}

async function demo(session: Session) {
  const { output, settings } = session;
  const isHuman = output.mode === 'human';
  const print = (line: string): void => {
    if (isHuman) output.text(`${line}\n`);
    else if (!settings.quiet) output.show(line);
  };
  const tell = (text: string, indent = '', paint = (line: string): string => line): void => {
    const width = isHuman ? output.style.width - indent.length : Number.POSITIVE_INFINITY;
    for (const line of wrapText(text, width)) print(paint(`${indent}${line}`));
  };
  const detail = (text: string): void => tell(text, '   ');

  const folder = mkdtempSync(join(tmpdir(), 'flywheel-demo-'));
  const dataDir = join(folder, 'data');
  const file = join(folder, 'pipelines.json');
  const pipelines = somePipelines();
  writeFileAtomic(file, `${JSON.stringify({ pipelines }, null, 2)}\n`, 'ERR_INPUT_INVALID');
  tell(`Everything runs on this machine, in ${folder}. The demo needs no network and no account.`);

  const commands: string[] = [];
  const perform = async <Value>(what: string, ...words: readonly string[]): Promise<Value> => {
    const line = [...words, '--local', '--data-dir', dataDir];
    const shown = shellLine(['flywheel', ...line]);
    print('');
    tell(`${commands.push(shown)}. ${what}`, '', output.style.bold);
    print(output.style.good(`   $ ${shown}`));
    return runCommand<Value>(session, join(folder, 'config'), line);
  };
  const balances = async (what: string) => {
    const found = balancesOf(await perform(what, 'local', 'status'));
    const shown = Object.entries(found).map(([name, amount]) => `${name} ${tokensText(amount, SYMBOL)}`);
    detail(shown.join(', '));
    return found;
  };

  const local = await perform<Answer<'init'>>(
    'Set up a token, a funded vault, a multisig of owner and operator, and an API key.',
    ...['local', 'init', '--name', 'Demo Token', '--symbol', SYMBOL],
  );
  detail(`mint ${local.mintAddress}, multisig ${local.multisig}`);
  const before = await balances('Show the balances.');
  const { batch, result } = await perform<
    { readonly batch: Batch } & Pick<AnswerOf<'executeBatch'>, 'result'>
  >(
    `Run a file with ${pipelines.length} pipelines: set up a batch, compare it with the file, approve as owner, execute as operator.`,
    ...['batch', 'run', file, '--keypair', local.owner.keypair, '--yes'],
  );
  for (const hash of result.successfulExecutions.flatMap(({ txHashes }) => txHashes))
    detail(`transaction ${hash}`);
  const done = `${result.totalSuccessful} of ${countText(result.total, 'transaction')}`;
  detail(`batch ${batch.id} ${statusOf(batch)}: ${done}`);
  await perform('Compare what the chain did with the file.', 'batch', 'verify', batch.id, '--expect', file);
  const after = await balances('Show the balances again.');
  print('');
  tell(`The files are in ${folder}. Run the commands above again, except the first: nothing happens twice.`);
  return { folder, dataDir, commands, before, after, batch, result };
}

export const commands = {
  demo: defineCommand({
    run: demo,
    // demo() has printed everything.
    view: () => [],
    details: ['Uses a temporary directory and leaves its files there.'],
    output: [
      '{ "folder", "dataDir", "commands", "before", "after", "batch", "result" }; progress is on standard error',
    ],
    examples: ['flywheel demo', 'flywheel demo --json'],
  }),
};
