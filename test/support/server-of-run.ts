/** Tells a test worker the address of the run's PostgreSQL. */

/** Environment variable with the address of the lookup server; `postgres-for-run.ts` sets it. */
export const ASK = 'FLYWHEEL_TEST_POSTGRES';

/** @returns the address of the run's server; `undefined` outside a run. */
export async function serverOfRun(): Promise<string | undefined> {
  const ask = process.env[ASK];
  if (ask === undefined) return undefined;
  const answer = await fetch(ask);
  const text = await answer.text();
  if (!answer.ok) throw new TypeError(text);
  return text;
}
