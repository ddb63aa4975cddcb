/** How wide help is. */

/** Widest help, in columns; narrower terminals get less. */
const MAX_HELP_WIDTH = 100;

export const helpWidth = (columns: number): number => Math.min(columns, MAX_HELP_WIDTH);
