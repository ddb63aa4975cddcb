/** `flywheel serve` and `local rpc`: the API over HTTP, and the local ledger as an RPC node, until a signal stops them. */
import { once } from 'node:events';
import { type Command, Option } from '@commander-js/extra-typings';
import type { RunningServer, ServeOptions } from '../../compose/server.js';
import { OPERATION_LIST, type OperationId, type Rate } from '../../contract/operations.js';
import { invalidInput } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { collect, integer } from '../options.js';

const isLoopbackHost = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);

async function untilStopped(
  { context: { signal }, output }: Session,
  running: Pick<RunningServer, 'close'>,
  words: string,
): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
  output.notice(words);
  await running.close();
}

const SECONDS: Readonly<Record<string, number>> = { h: 3_600, min: 60, s: 1 };

/** `burn=100/s`, `init=10/min`, `burn-batch=1/10s`; for one key `burn=100/s@ID`. */
const RATE = /^([a-z-]+)=([1-9][0-9]{0,5})\/([1-9][0-9]{0,4})?(s|min|h)(?:@([0-9a-f-]{36}))?$/;

type Rates = Partial<Record<OperationId, Rate>>;

/** @throws `ERR_INPUT_INVALID`, also for an operation that is given twice */
function rateOptions(given: readonly string[] = []): Pick<ServeOptions, 'rates' | 'keyRates'> {
  const rates: Rates = {};
  const keyRates: Record<string, Rates> = {};
  for (const text of given) {
    const [, word = '', points, count = '1', unit = '', keyId] = RATE.exec(text) ?? [];
    const operation = OPERATION_LIST.find((one) => one.word === word)?.id;
    const seconds = SECONDS[unit];
    if (operation === undefined || seconds === undefined)
      throw invalidInput(
        `--rate: expected an operation and a rate such as burn=100/s or init=10/min, got ${JSON.stringify(text.slice(0, 60))}.`,
        `Operations: ${OPERATION_LIST.map((one) => one.word).join(', ')}; units: s, min, h, or a multiple such as 10s. Add @KEY_ID for one key.`,
      );
    if (keyId !== undefined) keyRates[keyId] ??= {};
    const set = keyId === undefined ? rates : (keyRates[keyId] ?? {});
    if (set[operation] !== undefined) throw invalidInput('--rate names an operation twice.');
    set[operation] = { points: Number(points), windowSeconds: Number(count) * seconds };
  }
  return { rates, keyRates };
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const serveOptions = (command: Command) =>
  command
    .addOption(new Option('--host <host>', 'address to listen on').default('127.0.0.1', '127.0.0.1'))
    .addOption(integer('--port <n>', 'port; 0 for a free one', 0, 65_535).default(8_787))
    .addOption(
      new Option('--log-level <level>', 'log level on standard error (default: info)').choices(LOG_LEVELS),
    )
    .option(
      '--rate <operation=n/unit>',
      'rate limit of an operation per API key, or with @KEY_ID of one key (repeatable; default: contract 1.5)',
      collect,
    )
    .option('--bearer', 'also accept the API key as "authorization: Bearer …"')
    .addOption(
      integer('--shutdown-grace <seconds>', 'time for running requests at shutdown', 0, 3_600).default(30),
    );

function parse(options: OptionsOf<typeof serveOptions>, { context }: Session): ServeOptions {
  const { host, port, logLevel = 'info', shutdownGrace, rate, bearer } = options;
  const { FLYWHEEL_METRICS_TOKEN: token = '' } = context.env;
  return {
    ...{ host, port, logLevel, shutdownGraceMs: shutdownGrace * 1_000 },
    metricsToken: token === '' ? null : new Secret(token),
    ...rateOptions(rate),
    bearer: bearer === true,
  };
}

export const commands = {
  serve: defineCommand({
    configure: serveOptions,
    run: async (session, _args, typed) => {
      const options = parse(typed, session);
      const server = await session.context.startServer(session.settings, options);
      if (!isLoopbackHost(options.host))
        session.output.warn(
          `The server listens on ${options.host} without TLS. Put a proxy with TLS in front of it.`,
        );
      session.output.result({ url: server.url }, (style) => [style.good(`Serving on ${server.url}`)]);
      await untilStopped(session, server, 'Shutting down; finishing open requests.');
    },
    details: [
      'Serves the embedded engine or the database. SIGTERM or Ctrl-C stops the server after it has answered the received requests. After the grace period the rest gets 503; clients can repeat them with the same idempotency key. A second signal stops the server at once.',
      'Other machines can read /metrics with the bearer token FLYWHEEL_METRICS_TOKEN.',
    ],
    output: ['{ "url": address }, once it listens; logs are JSON lines on standard error'],
    examples: ['flywheel serve', 'flywheel serve --rate burn=100/s --rate init=10/min --shutdown-grace 10'],
  }),
  rpc: defineCommand({
    configure: (command) =>
      command
        .addOption(new Option('--host <host>', 'address to listen on').default('127.0.0.1', '127.0.0.1'))
        .addOption(
          integer(
            '--port <n>',
            'port of the RPC; subscriptions also use the next port; 0 for free ones',
            0,
            65_534,
          ).default(8_899),
        ),
    run: async (session, _args, { host, port }) => {
      const node = await session.context.startLocalRpc(session.settings, { host, port });
      if (!isLoopbackHost(host))
        session.output.warn(`Anyone who can reach ${host} can take SOL from this test cluster.`);
      const { url, webSocketUrl } = node;
      session.output.result({ url, webSocketUrl }, (style) => [
        style.good(`Test cluster at ${url}, subscriptions at ${webSocketUrl}`),
      ]);
      await untilStopped(session, node, 'Stopping.');
    },
    details: [
      'Serves the ledger of the data directory as Solana JSON-RPC with subscriptions, for web3.js, kit and wallets. Other commands and `flywheel serve` may use the same directory. Tokens of this test cluster are worthless, and `requestAirdrop` sends up to 100 SOL.',
      'SIGTERM or Ctrl-C stops the server.',
    ],
    output: ['{ "url": address, "webSocketUrl": address }, once it listens'],
    examples: ['flywheel local rpc', 'flywheel local rpc --port 9899'],
  }),
};
