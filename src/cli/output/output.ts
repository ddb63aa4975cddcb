/** Output of a command: data on stdout, everything else on stderr. The mode is fixed before the command runs. */
import type { MessageForm, OutputMode } from '../../compose/settings.js';
import type { Io, OutputStream } from '../context.js';
import type { Style } from './color.js';
import { createProgress, type Progress } from './progress.js';
import { printableLine, safeJson } from './safe-text.js';
import { type Columns, csvText, sentenceLines } from './table.js';

export interface Output {
  readonly mode: OutputMode;
  readonly messages: MessageForm;
  /** Of stdout, for views. */
  readonly style: Style;
  /** Of stderr, for questions and notices. */
  readonly noticeStyle: Style;
  /** The command's result: text from `view`, or JSON. In ndjson an array is one line per item. */
  result(value: unknown, view: (style: Style) => readonly string[]): void;
  /** Like {@link result}; csv has one row per item. @param value - the JSON value, if it is more than the items */
  list<Item>(
    items: readonly Item[],
    csv: Columns<Item>,
    view: (style: Style) => readonly string[],
    value?: unknown,
  ): Promise<void>;
  /** Adds explorer links to later results on a terminal. @param cluster - a public cluster; `null`: no links */
  linkTo(cluster: string | null): void;
  /** Unchanged text on stdout, in every mode: help, completion scripts. */
  text(text: string): void;
  jsonLine(value: unknown): void;
  /** Lines on stderr in every mode, such as the subject of a question. */
  show(text: string): void;
  /** Text on stderr; nothing with JSON messages or `--quiet`. */
  notice(text: string): void;
  /** Text or a JSON line on stderr; nothing with `--quiet`. */
  tell(text: string): void;
  /** Like {@link Output.tell}, after the next result. */
  tellBelow(text: string): void;
  /** Text or a JSON line on stderr, also with `--quiet`. */
  warn(text: string): void;
  /** Text on stderr with `--verbose`. */
  detail(text: string): void;
  readonly progress: Progress;
}

interface OutputOptions {
  readonly mode: OutputMode;
  readonly messages: MessageForm;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly style: Style;
  readonly noticeStyle: Style;
  readonly plain: boolean;
  nowMs(): number;
}

export const warningLines = (
  text: string,
  form: MessageForm,
  style: Style,
  stream: Pick<OutputStream, 'isTTY' | 'columns'>,
): readonly string[] =>
  form === 'text'
    ? sentenceLines(`warning: ${text}`, stream).map((line, at) =>
        at === 0 ? line.replace(/^warning:/, style.warn('warning:')) : line,
      )
    : [safeJson({ warning: text })];

export function createOutput(io: Io, options: OutputOptions): Output {
  const { mode, messages, quiet, verbose, style, noticeStyle, plain } = options;
  let explorer: string | null = null;
  const progress = createProgress(io.stderr, {
    wanted: messages === 'text' && !quiet,
    plain,
    nowMs: options.nowMs,
  });
  const linesOf = (lines: readonly string[]): string =>
    lines.map((line) => `${printableLine(line)}\n`).join('');
  /** The caller makes text from outside safe before styling; {@link printableLine} is the second defence. */
  const show = (text: string): void => {
    progress.clear();
    io.stderr.write(linesOf(text.split('\n')));
  };
  const say = (text: string): void => show(sentenceLines(text, io.stderr).join('\n'));
  const tell = (text: string): void => {
    if (quiet) return;
    if (messages === 'text') say(text);
    else show(safeJson({ notice: text }));
  };
  const below: string[] = [];
  const jsonLine = (value: unknown): void => io.stdout.write(`${safeJson(value)}\n`);
  const result: Output['result'] = (value, view) => {
    progress.clear();
    if (mode === 'human') io.stdout.write(linesOf(view({ ...style, explorer })));
    else if (mode === 'ndjson' && Array.isArray(value)) value.forEach(jsonLine);
    else io.stdout.write(`${safeJson(value, io.stdout.isTTY ? 2 : undefined)}\n`);
    below.splice(0).forEach(tell);
  };
  return {
    mode,
    messages,
    style,
    noticeStyle,
    progress,
    jsonLine,
    linkTo: (cluster) => {
      explorer = io.stdout.isTTY ? cluster : null;
    },
    text: (text) => {
      progress.clear();
      io.stdout.write(text);
    },
    result,
    list: async (items, csv, view, value = items) => {
      if (mode !== 'csv') return result(value, view);
      const text = await csvText(items, csv);
      progress.clear();
      io.stdout.write(text);
    },
    show,
    notice: (text) => {
      if (messages === 'text' && !quiet) say(text);
    },
    tell,
    tellBelow: (text) => void below.push(text),
    warn: (text) => show(warningLines(text, messages, noticeStyle, io.stderr).join('\n')),
    detail: (text) => {
      if (verbose) say(text);
    },
  };
}
