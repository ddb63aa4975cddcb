/** Asks for consent before an irreversible action. Where no question is possible, the action needs `--yes`. */
import { FlywheelError, usageError } from '../errors/flywheel-error.js';
import type { Session } from './command.js';
import { sentenceLines } from './output/table.js';

/** Why nobody is asked. */
export const withoutQuestion = ({ settings }: Pick<Session, 'settings'>): string =>
  settings.noInput ? 'With --no-input' : 'Without a terminal';

export const canAsk = (session: Pick<Session, 'settings' | 'context'>): boolean =>
  !session.settings.noInput && session.context.io.stdin.isTTY && session.context.io.stderr.isTTY;

/** Shows the subject of a question. With JSON messages and no question, the text is a notice; with --quiet it is none. */
export function showSubject(session: Session, text: string): void {
  const { output, settings } = session;
  if (settings.yes && settings.quiet) return;
  if (output.messages === 'text' || (!settings.yes && canAsk(session))) output.show(text);
  else output.tell(text);
}

/**
 * Returns only with `--yes` or the answer y; if `typed` is given, only that text is consent. The default answer is no.
 * @param otherwise - what the refusal says
 * @throws `ERR_DECLINED` for another answer; `ERR_USAGE` without a terminal or with `--no-input`
 */
export async function requireConsent(
  session: Session,
  question: string,
  {
    without = '--yes',
    typed,
    otherwise = 'Nothing was changed.',
  }: { readonly without?: string; readonly typed?: string; readonly otherwise?: string } = {},
): Promise<void> {
  if (session.settings.yes) return;
  if (!canAsk(session)) {
    throw usageError(
      `${withoutQuestion(session)} this command needs ${without}. ${otherwise}`,
      `The command asks "${question}" To agree, add ${without}.`,
    );
  }
  session.output.progress.clear();
  const asked = typed === undefined ? `${question} [y/N]` : `${question}:`;
  const answer = await session.context.io.prompt(
    `${sentenceLines(asked, session.context.io.stderr).join('\n')} `,
  );
  const said = answer?.trim().toLowerCase() ?? '';
  if (isConsent(said, typed)) return;
  const what =
    typed === undefined || /^(no?)?$/.test(said) ? 'Declined. ' : 'The typed text does not match. ';
  // Ctrl-C, or the end of the input, needs no name.
  throw new FlywheelError('ERR_DECLINED', `${answer === null ? '' : what}${otherwise}`);
}

const isConsent = (answer: string, typed: string | undefined): boolean =>
  typed === undefined ? /^y(es)?$/.test(answer) : answer === typed.toLowerCase();
