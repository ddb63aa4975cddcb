/** File of the real Squads program, which SQUADS_PROGRAM names; an empty variable names none. */
export const REAL_SQUADS = process.env['SQUADS_PROGRAM'] || undefined;
