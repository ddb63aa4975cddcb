/** Shrinks a failing run: leaves out faults and actions while the same promise stays broken. */
import { Broken } from './audit/auditor.js';
import { type RunOptions, runWorld } from './world.js';

const promiseOf = (error: Error): string => (error instanceof Broken ? error.promise : error.message);

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

export async function shrink(
  options: RunOptions,
  broken: Error,
  counts: { readonly faults: number; readonly actions: number },
  say: (line: string) => void,
): Promise<RunOptions> {
  const promise = promiseOf(broken);
  const breaks = async (faults: ReadonlySet<number>, actions: ReadonlySet<number>): Promise<boolean> => {
    const result = await runWorld({ ...options, withoutFaults: faults, withoutActions: actions });
    return result.broken !== null && promiseOf(result.broken) === promise;
  };
  let faults = new Set<number>();
  let actions = new Set<number>();
  actions = await leaveOut(upTo(counts.actions), (left) => breaks(faults, left));
  faults = await leaveOut(upTo(counts.faults), (left) => breaks(left, actions));
  const smaller = { ...options, withoutFaults: faults, withoutActions: actions };
  say(`smallest (${counts.actions - actions.size} actions, ${counts.faults - faults.size} faults):`);
  const { broken: last } = await runWorld({ ...smaller, say });
  say(String(last));
  return smaller;
}

/** Leaves out halves, then quarters, down to single numbers. */
async function leaveOut(
  numbers: readonly number[],
  holds: (left: ReadonlySet<number>) => Promise<boolean>,
): Promise<Set<number>> {
  const left = new Set<number>();
  for (let size = Math.ceil(numbers.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = numbers.length; at > 0; at -= size) {
      const piece = numbers.slice(Math.max(0, at - size), at).filter((number) => !left.has(number));
      if (piece.length === 0) continue;
      const trial = new Set([...left, ...piece]);
      if (await holds(trial)) for (const number of piece) left.add(number);
    }
  }
  return left;
}
