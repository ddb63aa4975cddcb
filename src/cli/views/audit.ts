/** What was administered, as people read it. */
import type { AuditAct } from '../../contract/admin.js';
import type { Style } from '../output/color.js';
import { tableLines } from '../output/table.js';

export const viewAudit = (acts: readonly AuditAct[], style: Style): readonly string[] =>
  acts.length === 0
    ? ['The audit log is empty.']
    : tableLines(
        [{ title: 'date' }, { title: 'who' }, { title: 'what' }, { title: 'project' }, { title: 'subject' }],
        acts.map(({ date, actor, action, project, subject, detail }) => [
          date,
          actor,
          action,
          project ?? 'all',
          // Of a key its name is what people know.
          [subject, typeof detail['name'] === 'string' ? `(${detail['name']})` : null]
            .filter(Boolean)
            .join(' '),
        ]),
        style.width,
      );
