/** What `--help` shows of a command: as much as fits a terminal of 24 lines of 80 columns, and where the rest stands. */
import type { CommandUnknownOpts, Help } from '@commander-js/extra-typings';

/** Lines of the smallest terminal that people use, without the one of the prompt. */
export const SHORT_PAGE_LINES = 23;
const GAP = 2;
const MAX_TERM = 30;

/** The text on one line; what does not fit is left out after a word. */
function clipped(text: string, width: number): string {
  if (text.length <= width) return text;
  const cut = text.slice(0, width - 1);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 1)).replace(/[\s,;:(]+$/, '')}…`;
}

type Row = readonly [term: string, description: string];

/** Rows of a list in at most so many lines: the last one names what did not fit. */
function rowLines(rows: readonly Row[], lines: number, width: number): readonly string[] {
  if (rows.length === 0 || lines < 1) return [];
  const kept = rows.length <= lines ? rows : rows.slice(0, lines - 1);
  const termWidth = Math.min(MAX_TERM, Math.max(0, ...kept.map(([term]) => term.length)));
  const shown = kept.map(([term, description]) => {
    const head = `  ${term.padEnd(termWidth + GAP)}`;
    return `${head}${clipped(description, width - head.length)}`.trimEnd();
  });
  if (kept === rows) return shown;
  const names = rows.slice(kept.length).map(([term]) => term.replace(/^-\w, /, '').replace(/ .*$/, ''));
  return [...shown, clipped(`  and ${names.join(', ')}`, width)];
}

const titled = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', title, ...lines];

/** The example that says most and fits. */
const exampleOf = (examples: readonly string[], width: number): readonly string[] =>
  examples
    .map((line) => `  $ ${line}`)
    .filter((line) => line.length <= width)
    .slice(0, 1);

function pathOf(command: CommandUnknownOpts): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`;
}

/** The page. @param examples - lines that can be run, the most telling first */
export function shortPage(
  command: CommandUnknownOpts,
  helper: Help,
  examples: readonly string[],
  columns: number,
): string {
  const width = Math.min(columns, 80) - 2;
  const commands = helper
    .visibleCommands(command)
    .map((one): Row => [helper.subcommandTerm(one), helper.subcommandDescription(one)]);
  const isTop = command.parent === null;
  const options = isTop
    ? []
    : [...helper.visibleOptions(command)]
        .filter((option) => option.long !== '--help')
        // What has to be given comes first.
        .sort((left, right) => Number(right.mandatory) - Number(left.mandatory))
        .map((option): Row => [helper.optionTerm(option), option.description]);
  /** Above and below the list of the top, as long as that leaves room. */
  const air = commands.length + 4 > SHORT_PAGE_LINES ? [] : [''];
  const usage = helper.commandUsage(command);
  const summary = command.description().split('\n')[0] ?? '';
  const head = [clipped(`Usage: ${usage}`, width), ...(isTop ? air : ['', clipped(summary, width)])];
  const example = titled('Example:', exampleOf(examples, width));
  const end = isTop
    ? [...air, 'Begin: flywheel demo. All options, topics: flywheel help']
    : ['', `All of it: flywheel help${pathOf(command)}`];
  const titles = (rows: readonly Row[]): number => (rows.length === 0 ? 0 : 2);
  const fixed = head.length + end.length + titles(commands) + titles(options);
  const room = SHORT_PAGE_LINES - fixed;
  const withExample = commands.length + options.length + example.length <= room ? example : [];
  const commandLines = rowLines(commands, room, width);
  const optionLines = rowLines(options, room - commandLines.length - withExample.length, width);
  const listed = isTop ? commandLines : titled('Commands:', commandLines);
  return `${[...head, ...listed, ...titled('Options:', optionLines), ...withExample, ...end].join('\n')}\n`;
}
