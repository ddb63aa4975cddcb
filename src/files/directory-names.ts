/** Names in a data or configuration directory that both the command line and what wipes the directory have to know. */
import { join } from 'node:path';

/** The journal of operations. */
export const JOURNAL_FILE = 'journal.db';

/** The record of what has been approved. */
export const APPROVALS_FILE = 'approvals.db';

/** The approvals that nobody named a file for. */
export const approvalDirectory = (directory: string): string => join(directory, 'approvals');
