/** `flywheel api`: a request that no other command makes, to the API or to the embedded engine, answered as it came. */
import { Argument, type Command, Option } from '@commander-js/extra-typings';
import { keyRule, type RawRequest } from '../../contract/raw-api.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import type { OperationRequest } from '../journal/journal.js';
import { collect } from '../options/amounts.js';
import { parseIdempotencyKey } from '../options/idempotency-key.js';

/** Pages that are followed at most. */
const MAX_PAGES = 100_000;

const configure = (command: Command) =>
  command
    .addArgument(new Argument('<method>', 'of the request').choices(['GET', 'POST']))
    .argument('<path>', "below the API's address, such as /v1/flywheel/batch")
    .option(
      '-f, --field <name=value>',
      'text: of the query of a GET, of the body of a POST; repeat it',
      collect,
    )
    .option('-F, --typed-field <name=value>', 'the same as true, false, null, a number, or @file', collect)
    .addOption(new Option('--input <file>', 'the whole body, JSON: a file, or - for standard input'))
    .option('-H, --header <header>', "a header, as 'Name: value'; repeat it", collect)
    .option('-i, --include', 'print status and headers too')
    .option('--paginate', 'go on with the next page until there is none, a line a page')
    .option(
      '--idempotency-key <key>',
      'of a POST that acts: repeat it under the key that was printed (default: a new one)',
    );

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [given, path]: [string, string], options: Options): Promise<undefined> {
  const method = given === 'POST' ? 'POST' : 'GET';
  const { readRequest } = await import('../api/api-request.js');
  const request = await readRequest(session.context, [method, path], options);
  const showing = { withHeaders: options.include === true };
  const rule = keyRule(request);
  if (rule === 'none') {
    if (options.idempotencyKey !== undefined)
      throw new FlywheelError('ERR_USAGE', `${method} ${path} takes no idempotency key.`);
    return options.paginate === true ? paginate(session, request) : once(session, request, showing);
  }
  if (options.paginate === true)
    throw new FlywheelError('ERR_USAGE', '--paginate is for lists, which are a GET.');
  const key = parseIdempotencyKey(options.idempotencyKey, rule === 'uuid' ? 'uuid' : 'text');
  const [{ apiWork }, { runOperation }, { fingerprint }] = await Promise.all([
    import('../api/api-work.js'),
    import('../operation/run-operation.js'),
    import('../../values/digest.js'),
  ]);
  const asked: OperationRequest = {
    kind: 'api',
    content: fingerprint({ path: request.path, body: request.body ?? '' }),
    origin: key === undefined ? { from: 'chance' } : { from: 'user', key },
    body: () => JSON.stringify(request),
    notes: () => ({}),
    command: session.commandLine,
    elements: [],
    again: false,
  };
  await runOperation(session, asked, apiWork(session, request, showing));
  return undefined;
}

async function once(
  session: Session,
  request: RawRequest,
  showing: { readonly withHeaders: boolean },
): Promise<undefined> {
  const { sendRequest, showAnswer } = await import('../api/api-work.js');
  showAnswer(session, await sendRequest(session, request, showing), showing);
  return undefined;
}

/** The cursor of the page after this one, or `null`. */
function nextCursor(text: string): string | null {
  try {
    const page: unknown = JSON.parse(text);
    const next = typeof page === 'object' && page !== null ? Reflect.get(page, 'nextCursor') : null;
    return typeof next === 'string' ? next : null;
  } catch {
    return null;
  }
}

async function paginate(session: Session, request: RawRequest): Promise<undefined> {
  const { sendRequest, showAnswer } = await import('../api/api-work.js');
  const showing = { withHeaders: false };
  const url = new URL(`http://api${request.path}`);
  const seen = new Set<string>();
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const answer = await sendRequest(session, { ...request, path: url.pathname + url.search }, showing);
    showAnswer(session, { ...answer, text: `${answer.text.trimEnd()}\n` }, showing);
    await session.context.io.stdout.drained();
    const cursor = nextCursor(answer.text);
    if (cursor === null) return undefined;
    if (seen.has(cursor))
      throw new FlywheelError('ERR_RESPONSE_INVALID', 'The pages of the service lead in a circle.');
    seen.add(cursor);
    url.searchParams.set('cursor', cursor);
  }
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Key, address, retries and time-outs are those of every other command; the embedded engine answers as `serve` would, without a socket.',
    'A POST that acts gets an idempotency key, which is printed: where no answer came it is exit 7, and the same command, or that key, repeats it without doing it twice.',
    'What is not success is printed as well, and exits as that error does.',
  ],
  output: ['the body of the answer as it came; with --paginate a line a page'],
  errors: ['ERR_USAGE', 'ERR_UNAUTHORIZED', 'ERR_NOT_FOUND', 'ERR_OUTCOME_UNKNOWN', 'ERR_UNAVAILABLE'],
  examples: [
    'flywheel api GET /v1/flywheel/batch -f status=EXECUTED -F limit=5',
    'flywheel api GET /v1/tokenomics/burns --paginate',
    'flywheel api POST /v1/tokenomics/burn --input burn.json',
    'flywheel api GET /openapi.json',
  ],
});
