/** Path of the real Squads program from SQUADS_PROGRAM; an empty variable counts as unset. */
export const REAL_SQUADS = process.env['SQUADS_PROGRAM'] || undefined;
