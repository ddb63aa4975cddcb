/** How a worker finds the PostgreSQL of the run. */

/** Names the address to ask; `postgres-for-run.ts` sets it. */
export const ASK = 'FLYWHEEL_TEST_POSTGRES';

/** @returns the address of the run's server; none outside a run. */
export async function serverOfRun(): Promise<string | undefined> {
  const ask = process.env[ASK];
  if (ask === undefined) return undefined;
  const answer = await fetch(ask);
  const text = await answer.text();
  if (!answer.ok) throw new TypeError(text);
  return text;
}
