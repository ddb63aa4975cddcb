/** The manual: a page for each command, in roff, from the same words that `--help` prints. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { ERRORS } from '../../errors/codes.js';
import { EXIT_CODES } from '../../errors/exit-codes.js';
import { CATALOGUE } from '../catalogue.js';
import type { CatalogueEntry, HelpTexts } from '../command.js';
import { allCommands } from './pages.js';
import { ENVIRONMENT } from './topics.js';

/** One page. */
export interface ManPage {
  /** `flywheel-batch-init.1` */
  readonly file: string;
  readonly text: string;
}

/** Text that roff prints as it is: nothing in it is an escape, a request or a dash of print. */
export const roffText = (text: string): string =>
  text
    .replaceAll('\\', '\\(rs')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('"', '\\(dq')
    .replace(
      /[^\n\x20-\x7e]/gu,
      (char) => `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replace(/^\./gm, '\\&.');

const bold = (text: string): string => `\\fB${roffText(text)}\\fR`;
const italic = (text: string): string => `\\fI${roffText(text)}\\fR`;

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`.SH ${roffText(title)}`, ...lines];

const tagged = (entries: readonly (readonly [tag: string, text: string])[]): readonly string[] =>
  entries.flatMap(([tag, text]) => ['.TP', tag, roffText(text) || '\\&']);

/** Lines that stay lines. */
const verbatim = (lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['.PP', '.RS 2', '.nf', ...lines.map(roffText), '.fi', '.RE'];

/** `--out <file>` with the flag bold and what it takes in italics. */
const flagTag = (flags: string): string =>
  flags
    .split(/(\s*[<[][^>\]]+[>\]](?:\.\.\.)?)/)
    .filter((part) => part !== '')
    .map((part) => (/[<[]/.test(part) ? italic(part) : bold(part)))
    .join('');

function optionEntries({ options }: CommandUnknownOpts): readonly (readonly [string, string])[] {
  return options.map(({ flags, description, argChoices }) => [
    flagTag(flags),
    argChoices === undefined ? description : `${description} (${argChoices.join(', ')})`,
  ]);
}

const wordsOf = (command: CommandUnknownOpts): readonly string[] =>
  command.parent === null ? [command.name()] : [...wordsOf(command.parent), command.name()];

const pageName = (command: CommandUnknownOpts): string => wordsOf(command).join('-');

/** The help texts of every command, by its words. */
async function textsByWords(
  entries: readonly CatalogueEntry[] = CATALOGUE,
  before: readonly string[] = ['flywheel'],
): Promise<ReadonlyMap<string, HelpTexts>> {
  const found = new Map<string, HelpTexts>();
  for (const { name, load, entries: below = [] } of entries) {
    const words = [...before, name];
    if (load !== undefined) found.set(words.join(' '), (await load()).command.help);
    for (const [path, texts] of await textsByWords(below, words)) found.set(path, texts);
  }
  return found;
}

/** What only the page of the program itself has. */
const topSections = (): readonly string[] => [
  ...section('ENVIRONMENT', tagged(ENVIRONMENT.map(([name, text]) => [bold(name), text]))),
  ...section(
    'EXIT STATUS',
    tagged(
      EXIT_CODES.map(({ code, meaning, script }) => [
        bold(String(code)),
        `${meaning}. In a script: ${script}.`,
      ]),
    ),
  ),
];

function describedBy(texts: HelpTexts | undefined): readonly string[] {
  if (texts === undefined) return [];
  const { output, csv, errors, examples } = texts;
  return [
    ...section('OUTPUT', verbatim([...output, ...(csv === undefined ? [] : [`csv: ${csv.join(', ')}`])])),
    ...section(
      'ERRORS',
      tagged(errors.map((code) => [bold(code), `${ERRORS[code].when}; exit ${ERRORS[code].exit}`])),
    ),
    ...section('EXAMPLES', verbatim(examples)),
  ];
}

function pageText(command: CommandUnknownOpts, texts: HelpTexts | undefined, version: string): string {
  const name = pageName(command);
  const isTop = command.parent === null;
  const summary = (isTop ? command.description() : command.summary()).split('\n')[0] ?? '';
  const below = command.commands.map((each) => [bold(`${pageName(each)}(1)`), each.summary()] as const);
  const args = command.registeredArguments.map(
    (argument) => [italic(argument.name()), argument.description] as const,
  );
  const related = [...(command.parent === null ? [] : [command.parent]), ...command.commands].map(
    (each) => `${bold(pageName(each))}(1)`,
  );
  return [
    `.TH ${roffText(name.toUpperCase())} 1 "" ${roffText(`flywheel ${version}`).replace(/ /g, '\\ ')} Flywheel`,
    // Names of variables, files and commands are not to be broken.
    '.nh',
    ...section('NAME', [`${roffText(name)} \\- ${roffText(summary.replace(/\.$/, ''))}`]),
    ...section('SYNOPSIS', [`${bold(wordsOf(command).join(' '))} ${roffText(command.usage())}`.trimEnd()]),
    ...section('DESCRIPTION', [
      roffText(summary),
      ...(texts?.details ?? []).flatMap((line) => ['.PP', roffText(line)]),
    ]),
    ...section('COMMANDS', tagged(below)),
    ...section('ARGUMENTS', tagged(args)),
    ...section('OPTIONS', tagged(optionEntries(command))),
    ...(isTop ? topSections() : []),
    ...describedBy(texts),
    ...section(
      'SEE ALSO',
      [related.join(', ')].filter((line) => line !== ''),
    ),
    '',
  ].join('\n');
}

/** Every page, that of the program first. */
export async function manPages(version: string): Promise<readonly ManPage[]> {
  const [commands, texts] = await Promise.all([allCommands(version), textsByWords()]);
  return commands.map((command) => ({
    file: `${pageName(command)}.1`,
    text: pageText(command, texts.get(wordsOf(command).join(' ')), version),
  }));
}
