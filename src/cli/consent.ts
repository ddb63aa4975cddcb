/** Asks before something that cannot be undone; where nobody can be asked, silence is a no. */
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Session } from './command.js';
import { sentenceLines } from './output/table.js';

/** Can a question be put to a person? */
export const canAsk = (session: Session): boolean =>
  !session.settings.noInput && session.context.io.stdin.isTTY && session.context.io.stderr.isTTY;

/** Shows what a question is about. Where nobody is asked and messages are JSON, it is a notice. */
export function showSubject(session: Session, text: string): void {
  const { output, settings } = session;
  if (output.messages === 'text' || (!settings.yes && canAsk(session))) output.show(text);
  else output.tell(text);
}

/**
 * Goes on only with consent: `--yes`, or y for an answer; where `typed` is given, that text. Default is no.
 * @throws `ERR_DECLINED` for a no; `ERR_USAGE` where nobody can be asked.
 */
export async function requireConsent(
  session: Session,
  question: string,
  {
    without = '--yes',
    declined = 'Declined. Nothing was sent.',
    typed,
  }: { without?: string; declined?: string; typed?: string } = {},
): Promise<void> {
  if (session.settings.yes) return;
  if (!canAsk(session)) {
    throw new FlywheelError(
      'ERR_USAGE',
      `Without a terminal this command needs ${without}. Nothing was changed.`,
      {
        hint: `What ${without} agrees to: ${question}`,
      },
    );
  }
  session.output.progress.clear();
  const line = sentenceLines(question, session.context.io.stderr).join('\n');
  const answer = await session.context.io.prompt(typed === undefined ? `${line} [y/N] ` : `${line}: `);
  if (answer === null || !isConsent(answer.trim().toLowerCase(), typed))
    throw new FlywheelError('ERR_DECLINED', declined);
}

const isConsent = (answer: string, typed: string | undefined): boolean =>
  typed === undefined ? /^y(es)?$/.test(answer) : answer === typed.toLowerCase();
