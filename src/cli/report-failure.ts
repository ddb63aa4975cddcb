/** Turns every thrown value into a message on stderr and an exit code (contract, section 2.3). */
import type { MessageForm } from '../compose/settings.js';
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { FlywheelError, isFlywheelError, type ProblemList, wrapUnknown } from '../errors/flywheel-error.js';
import { isoTime } from '../values/time.js';
import type { CliContext, OutputStream } from './context.js';
import { colorLevel, createStyle, messageForm, type Style } from './output/color.js';
import { safeJson, safeLine } from './output/safe-text.js';
import { indented, sentenceLines } from './output/table.js';
import { countedFromOne } from './views/unit.js';

/** After a signal, an unexplained failure becomes `ERR_INTERRUPTED`. */
export function asFlywheelError(thrown: unknown, signal: AbortSignal): FlywheelError {
  const error = wrapUnknown(thrown);
  const explained = isFlywheelError(thrown) && thrown.code !== 'ERR_INTERNAL';
  if (!signal.aborted || explained) return error;
  return new FlywheelError('ERR_INTERRUPTED', 'Interrupted.', {
    hint: 'The service continues with the sent requests. Run the same command again to see the outcome.',
    cause: thrown,
  });
}

/** JSON has no fields that are undefined. */
function errorRecord(error: FlywheelError): Readonly<Record<string, unknown>> {
  const { requestId, idempotencyKey, retryAfterSeconds, problems } = error.options;
  return {
    error: error.wireCode,
    message: error.message,
    status: error.status,
    hint: error.hint,
    ...{ retryAfterSeconds, requestId, idempotencyKey },
    ...(problems && { file: problems.file, problemCount: problems.count, problems: problems.listed }),
  };
}

/** Problems printed as text; JSON has more. */
const MAX_PRINTED = 100;

/** Compiler format: `file:line: path: message`. */
function problemLines({ file, count, listed }: ProblemList, stream: OutputStream): readonly string[] {
  const shown = listed.slice(0, MAX_PRINTED);
  const printed = shown.flatMap(({ line, path, message }) => {
    const place = line === undefined ? file : `${file}:${line}`;
    const text = `${place}: ${path === undefined ? '' : `${countedFromOne(path)}: `}${message}`;
    return stream.isTTY ? indented('  ', text, stream.columns) : [`  ${safeLine(text)}`];
  });
  const more = count - shown.length;
  return more > 0 ? [...printed, `  … and ${more.toLocaleString('en')} more`] : printed;
}

function sentenceOf({ message, options: { problems } }: FlywheelError): string {
  if (problems === undefined) return countedFromOne(message);
  const { file, count } = problems;
  return `${file}: ${count.toLocaleString('en')} problem${count === 1 ? '' : 's'}. Nothing was sent.`;
}

function errorLines(
  error: FlywheelError,
  style: Style,
  nowMs: number,
  stream: OutputStream,
): readonly string[] {
  const words = (head: string, paint: (text: string) => string, text: string): readonly string[] =>
    sentenceLines(`${head} ${text}`, stream).map((line, at) =>
      at === 0 && line.startsWith(head) ? `${paint(head)}${line.slice(head.length)}` : line,
    );
  const { requestId, idempotencyKey, retryAfterSeconds, problems } = error.options;
  return [
    ...words('error:', style.bad, `${sentenceOf(error)} (${error.wireCode})`),
    ...(problems === undefined ? [] : problemLines(problems, stream)),
    ...(error.hint === undefined ? [] : words('hint:', style.bold, error.hint)),
    ...(retryAfterSeconds === undefined ? [] : [retryLine(retryAfterSeconds, nowMs)]),
    ...(requestId === undefined ? [] : [`request id: ${safeLine(requestId)}`]),
    ...(error.exitCode === EXIT.unknownOutcome && idempotencyKey !== undefined
      ? [`idempotency key: ${safeLine(idempotencyKey)}`]
      : []),
  ];
}

const MS_PER_SECOND = 1_000;

const retryLine = (seconds: number, nowMs: number): string =>
  `try again in ${Math.ceil(seconds)} s, at ${isoTime(nowMs + Math.ceil(seconds) * MS_PER_SECOND)}`;

const MAX_STACKS = 8;

function debugLines(error: unknown): readonly string[] {
  const stacks: (readonly string[])[] = [];
  for (let at: unknown = error; at instanceof Error && stacks.length < MAX_STACKS; at = at.cause)
    stacks.push(stackLines(at));
  return stacks.flat();
}

/** The message may come from outside, so its line breaks do not start lines; those of the stack do. */
function stackLines({ stack, message }: Error): readonly string[] {
  const end = stack?.includes(message) === true ? stack.indexOf(message) + message.length : 0;
  const head = stack === undefined ? message : stack.slice(0, end);
  return [head, ...(stack ?? '').slice(end).split('\n')].map(safeLine).filter((line) => line !== '');
}

/** Also reports command lines that could not be parsed. @returns the exit code of the error */
export async function reportFailure(
  { io, env, signal, clock }: CliContext,
  thrown: unknown,
  words: readonly string[],
): Promise<ExitCode> {
  const error = asFlywheelError(thrown, signal);
  const level = colorLevel(env, io.stderr.isTTY, words.includes('--no-color'));
  const style = await createStyle(level, io.stderr.columns);
  const lines =
    formOf(words) === 'text'
      ? errorLines(error, style, clock.nowMs(), io.stderr)
      : [safeJson(errorRecord(error))];
  const debug = ['', '0'].includes(env['FLYWHEEL_DEBUG'] ?? '') ? [] : debugLines(error);
  io.stderr.write([...lines, ...debug].map((line) => `${line}\n`).join(''));
  return error.exitCode;
}

/** Reads the message form from raw words, which may be unparsable. */
function formOf(words: readonly string[]): MessageForm {
  const options = words.slice(0, [...words, '--'].indexOf('--'));
  const at = options.findLastIndex((word) => word === '--output' || word.startsWith('--output='));
  const output = options[at]?.split('=')[1] ?? options[at + 1];
  return messageForm({ json: options.includes('--json'), ...(at < 0 ? {} : { output }) });
}
