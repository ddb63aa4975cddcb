/** Where a command's words go: data to stdout, everything else to stderr. The mode is decided before a command runs, once. */
import type { MessageForm, OutputMode } from '../../compose/settings.js';
import type { Io, OutputStream } from '../context.js';
import type { Style } from './color.js';
import { createProgress, type Progress } from './progress.js';
import { printableLine, safeJson } from './safe-text.js';
import { type Columns, sentenceLines } from './table.js';

/** What a command prints through. */
export interface Output {
  /** Of what stands on stdout. */
  readonly mode: OutputMode;
  /** Of what is said on stderr. */
  readonly messages: MessageForm;
  /** Of stdout, for views. */
  readonly style: Style;
  /** Of stderr, for questions and notices. */
  readonly noticeStyle: Style;
  /** The command's result: through its view for people, else as JSON; a list is one line an item in ndjson. */
  result(value: unknown, view: (style: Style) => readonly string[]): void;
  /** A list: as {@link result}, and with a line an item in csv. @param value - what JSON has, where that is more than the list */
  list<Item>(
    items: readonly Item[],
    csv: Columns<Item>,
    view: (style: Style) => readonly string[],
    value?: unknown,
  ): Promise<void>;
  /** From now on results have links to an explorer, on a terminal. @param cluster - a public one; `null` for none */
  linkTo(cluster: string | null): void;
  /** Text on stdout as it is; for what is neither (completion scripts, help). */
  text(text: string): void;
  /** One JSON line on stdout. */
  jsonLine(value: unknown): void;
  /** Lines of a view on stderr, whatever the mode: what a question is about. */
  show(text: string): void;
  /** A sentence on stderr for people; where messages are JSON, and when quiet, nothing. */
  notice(text: string): void;
  /** A sentence on stderr unless quiet; one JSON line where messages are JSON. */
  tell(text: string): void;
  /** A sentence on stderr that quiet does not silence; one JSON line where messages are JSON. */
  warn(text: string): void;
  /** A sentence on stderr with `--verbose` only. */
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
  /** No spinner: lines of text. */
  readonly plain: boolean;
  nowMs(): number;
}

/** A warning as it stands on stderr. */
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

/** The output of one command run. */
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
  /** Lines: who composed them has made safe what came from outside, and styled the rest. */
  const show = (text: string): void => {
    progress.clear();
    io.stderr.write(linesOf(text.split('\n')));
  };
  const say = (text: string): void => show(sentenceLines(text, io.stderr).join('\n'));
  const jsonLine = (value: unknown): void => io.stdout.write(`${safeJson(value)}\n`);
  const result: Output['result'] = (value, view) => {
    progress.clear();
    if (mode === 'human') io.stdout.write(linesOf(view({ ...style, explorer })));
    else if (mode === 'ndjson' && Array.isArray(value)) value.forEach(jsonLine);
    else io.stdout.write(`${safeJson(value, io.stdout.isTTY ? 2 : undefined)}\n`);
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
      const { csvText } = await import('./csv.js');
      io.stdout.write(csvText(items, csv));
    },
    show,
    notice: (text) => {
      if (messages === 'text' && !quiet) say(text);
    },
    tell: (text) => {
      if (quiet) return;
      if (messages === 'text') say(text);
      else show(safeJson({ notice: text }));
    },
    warn: (text) => show(warningLines(text, messages, noticeStyle, io.stderr).join('\n')),
    detail: (text) => {
      if (verbose) say(text);
    },
  };
}
