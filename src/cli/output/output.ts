/** Where a command's words go: data to stdout, everything else to stderr. The mode is decided before a command runs, once. */

import type { OutputMode } from '../config/settings.js';
import type { Io, OutputStream } from '../context.js';
import type { Style } from './color.js';
import type { Cell } from './csv.js';
import { createProgress, type Progress } from './progress.js';
import { printableLine, safeJson } from './safe-text.js';
import { sentenceLines } from './sentence.js';

/** What a command prints through. */
export interface Output {
  readonly mode: OutputMode;
  /** Of stdout, for views. */
  readonly style: Style;
  /** Of stderr, for questions and notices. */
  readonly noticeStyle: Style;
  /** The command's result: through its view for people, else as JSON; a list is one line an item in ndjson. */
  result(value: unknown, view: (style: Style) => readonly string[]): void;
  /** A list: as {@link result}, and with a line of cells an item in csv. */
  list<Item>(
    items: readonly Item[],
    csv: { readonly columns: readonly string[]; readonly cells: (item: Item) => readonly Cell[] },
    view: (style: Style) => readonly string[],
  ): Promise<void>;
  /** From now on results have links to an explorer, on a terminal. @param cluster - a public one; `null` for none */
  linkTo(cluster: string | null): void;
  /** Text on stdout as it is; for what is neither (completion scripts, help). */
  text(text: string): void;
  /** One JSON line on stdout. */
  jsonLine(value: unknown): void;
  /** Lines of a view on stderr, whatever the mode: what a question is about. */
  show(text: string): void;
  /** A sentence on stderr for people; in JSON modes, and when quiet, nothing. */
  notice(text: string): void;
  /** A sentence on stderr in every mode, unless quiet; one JSON line in JSON modes. */
  tell(text: string): void;
  /** A sentence on stderr that quiet does not silence; one JSON line in JSON modes. */
  warn(text: string): void;
  /** A sentence on stderr with `--verbose` only. */
  detail(text: string): void;
  readonly progress: Progress;
}

export interface OutputOptions {
  readonly mode: OutputMode;
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
  mode: OutputMode,
  style: Style,
  stream: Pick<OutputStream, 'isTTY' | 'columns'>,
): readonly string[] =>
  mode === 'human'
    ? sentenceLines(`warning: ${text}`, stream).map((line, at) =>
        at === 0 ? line.replace(/^warning:/, style.warn('warning:')) : line,
      )
    : [safeJson({ warning: text })];

/** The output of one command run. */
export function createOutput(io: Io, options: OutputOptions): Output {
  const { mode, quiet, verbose, style, noticeStyle, plain } = options;
  let explorer: string | null = null;
  const progress = createProgress(io.stderr, {
    wanted: mode === 'human' && !quiet,
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
    list: async (items, { columns, cells }, view) => {
      if (mode !== 'csv') return result(items, view);
      const { csvText } = await import('./csv.js');
      io.stdout.write(csvText(columns, items.map(cells)));
    },
    show,
    notice: (text) => {
      if (mode === 'human' && !quiet) say(text);
    },
    tell: (text) => {
      if (quiet) return;
      if (mode === 'human') say(text);
      else show(safeJson({ notice: text }));
    },
    warn: (text) => show(warningLines(text, mode, noticeStyle, io.stderr).join('\n')),
    detail: (text) => {
      if (verbose) say(text);
    },
  };
}
