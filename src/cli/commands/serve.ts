/** `flywheel serve`: the API over HTTP, until a signal ends it. */

import { type Command, Option } from '@commander-js/extra-typings';
import { MAX_BODY_BYTES } from '../../contract/limits.js';
import { Secret } from '../../values/secret.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import type { ServeOptions } from '../context.js';
import { collect, integerOption } from '../options/amounts.js';
import { isLoopbackHost } from '../options/host.js';
import { DEFAULT_RATES, rateOptions } from '../options/rates.js';
import { untilStopped } from '../until-stopped.js';

const LOG_LEVELS: readonly ServeOptions['logLevel'][] = [
  'trace',
  'debug',
  'info',
  'warn',
  'error',
  'fatal',
  'silent',
];
const DEFAULT_PORT = 8_787;
const DEFAULT_GRACE_SECONDS = 30;

const configure = (command: Command) =>
  command
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <n>', `port; 0 for a free one (default: ${DEFAULT_PORT})`)
    .addOption(
      new Option('--log-level <level>', 'log level on standard error (default: info)').choices(LOG_LEVELS),
    )
    .option('--max-body <bytes>', `largest request body (default: ${MAX_BODY_BYTES})`)
    .option(
      '--rate <operation=n/unit>',
      `rate limit of an operation per API key, or with @KEY_ID of one key (repeatable; default: ${DEFAULT_RATES})`,
      collect,
    )
    .option(
      '--cors-origin <origin>',
      'allow browser pages of this origin (repeatable; default: none)',
      collect,
    )
    .option('--bearer', 'also accept the API key as "authorization: Bearer …"')
    .option(
      '--shutdown-grace <seconds>',
      `time that running requests get at shutdown (default: ${DEFAULT_GRACE_SECONDS})`,
    );

type Options = OptionsOf<typeof configure>;

function parse(options: Options, { context }: Session): ServeOptions {
  const token = context.env['FLYWHEEL_METRICS_TOKEN'];
  return {
    host: options.host ?? '127.0.0.1',
    port: integerOption('--port', options.port, { least: 0, most: 65_535, fallback: DEFAULT_PORT }),
    logLevel: LOG_LEVELS.find((level) => level === options.logLevel) ?? 'info',
    maxBodyBytes: integerOption('--max-body', options.maxBody, {
      least: 1_024,
      most: 500_000_000,
      fallback: MAX_BODY_BYTES,
    }),
    metricsToken: token === undefined || token === '' ? null : new Secret(token),
    shutdownGraceMs:
      integerOption('--shutdown-grace', options.shutdownGrace, {
        least: 0,
        most: 3_600,
        fallback: DEFAULT_GRACE_SECONDS,
      }) * 1_000,
    ...rateOptions(options.rate),
    corsOrigins: options.corsOrigin ?? [],
    bearer: options.bearer === true,
  };
}

async function run(session: Session, _args: [], typed: Options): Promise<undefined> {
  const options = parse(typed, session);
  const server = await session.context.startServer(session.settings, options);
  if (!isLoopbackHost(options.host))
    session.output.warn(
      `The server listens on ${options.host} without TLS. Put a proxy with TLS in front of it.`,
    );
  session.output.result({ url: server.url }, (style) => [style.good(`Serving on ${server.url}`)]);
  await untilStopped(session, server, 'Shutting down; finishing open requests.');
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Serves the embedded engine or the database. SIGTERM or Ctrl-C stops it: received requests are answered first; after the grace period the rest gets 503 and can be repeated safely with its idempotency key. A second signal stops it at once.',
    'FLYWHEEL_METRICS_TOKEN allows /metrics from other machines, with that bearer token.',
  ],
  output: ['{ "url": address }, once it listens; logs are JSON lines on standard error'],
  examples: [
    'flywheel serve',
    'flywheel serve --port 0 --log-level warn',
    'flywheel serve --rate burn=100/s --rate init=10/min --shutdown-grace 10',
  ],
});
