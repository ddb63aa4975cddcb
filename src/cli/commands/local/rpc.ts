/** `flywheel local rpc`: the local ledger as an RPC node, until a signal ends it. */

import { type Command, Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import type { LocalRpcTerms } from '../../context.js';
import { readInputText } from '../../input/read-input.js';
import { integerOption } from '../../options/amounts.js';
import { isLoopbackHost } from '../../options/host.js';
import { untilStopped } from '../../until-stopped.js';

const DEFAULT_PORT = 8_899;
const DEFAULT_SLOT_MS = 400;
const MAX_SLOT_MS = 60_000;
const MAX_LAG_SLOTS = 300;
const MAX_SEED = 2 ** 32 - 1;

const configure = (command: Command) =>
  command
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option(
      '--port <n>',
      `port; subscriptions are served there and at the next one; 0 takes a free pair (default: ${DEFAULT_PORT})`,
    )
    .option('--slot-ms <n>', `length of a slot in milliseconds (default: ${DEFAULT_SLOT_MS})`)
    .option('--on-demand', 'let a slot go by for each transaction, and none else')
    .option('--confirmed-after <slots>', 'slots until a block is confirmed (default: 2, on demand 0)')
    .option('--finalized-after <slots>', 'slots until a block is final (default: 31, on demand 0)')
    .addOption(new Option('--faults <file|json>', 'what goes wrong: a list of rules, see below'))
    .option('--seed <n>', 'seed of the faults: the same requests meet the same ones (default: 1)');

type Options = OptionsOf<typeof configure>;

const lagOption = (flag: string, given: string | undefined): number | undefined =>
  given === undefined
    ? undefined
    : integerOption(flag, given, { least: 0, most: MAX_LAG_SLOTS, fallback: 0 });

/** @throws `ERR_INPUT_INVALID` for what is no JSON. */
async function faultsOption({ context }: Session, given: string | undefined): Promise<unknown> {
  if (given === undefined) return [];
  const { name, text } = given.trimStart().startsWith('[')
    ? { name: '--faults', text: given }
    : await readInputText(context, given);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: not JSON: ${(cause as Error).message}`, { cause });
  }
}

async function parse(session: Session, options: Options): Promise<LocalRpcTerms> {
  return {
    host: options.host ?? '127.0.0.1',
    port: integerOption('--port', options.port, { least: 0, most: 65_534, fallback: DEFAULT_PORT }),
    slotMs: integerOption('--slot-ms', options.slotMs, {
      least: 10,
      most: MAX_SLOT_MS,
      fallback: DEFAULT_SLOT_MS,
    }),
    onDemand: options.onDemand === true,
    confirmedAfter: lagOption('--confirmed-after', options.confirmedAfter),
    finalizedAfter: lagOption('--finalized-after', options.finalizedAfter),
    faults: await faultsOption(session, options.faults),
    seed: integerOption('--seed', options.seed, { least: 0, most: MAX_SEED, fallback: 1 }),
  };
}

async function run(session: Session, _args: [], typed: Options): Promise<undefined> {
  const terms = await parse(session, typed);
  const node = await session.context.startLocalRpc(session.settings, terms);
  if (!isLoopbackHost(terms.host))
    session.output.warn(
      `Everybody who reaches ${terms.host} can take SOL from the treasury of this test cluster.`,
    );
  const { url, webSocketUrl } = node;
  session.output.result({ url, webSocketUrl }, (style) => [
    style.good(`A test cluster is at ${url}, its subscriptions at ${webSocketUrl}`),
  ]);
  await untilStopped(session, node, 'Stopping.');
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Serves the ledger of the data directory as a Solana JSON-RPC with subscriptions, for web3.js, kit and others, beside `flywheel serve` and every command on the same directory. It is a test cluster of one node: nothing on it is worth anything, and `requestAirdrop` gives up to 100 SOL at a time.',
    'A rule of faults is { "fault": NAME } with any of "rate" (0 to 1), "methods", "times" and "after". Faults: drop, late ("slots"), duplicate, reorder, expire, rollback ("slots", "lost"), behind ("slots"), prune ("slots"), busy ("seconds"), unavailable, wrong ("as": html, text, id, shape, empty or cut), hang, unanswered, hangup, mute.',
    'SIGTERM or Ctrl-C stops it.',
  ],
  output: ['{ "url": address, "webSocketUrl": address }, once it listens'],
  examples: [
    'flywheel local rpc',
    'flywheel local rpc --port 9899 --slot-ms 100',
    `flywheel local rpc --seed 7 --faults '[{"fault":"drop","rate":0.1},{"fault":"busy","rate":0.05}]'`,
  ],
});
