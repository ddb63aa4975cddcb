/** Shrinks a transaction that still shows a finding. */
import { partOf } from './program.js';
import type { Plan } from './transaction.js';

function* smaller(plan: Plan): Generator<Plan> {
  if (plan.table !== null) yield { ...plan, table: null };
  if (plan.versioned) yield { ...plan, versioned: false, table: null };
  const { instructions } = plan;
  for (let at = 0; at < instructions.length; at += 1) {
    if (instructions.length > 1)
      yield { ...plan, instructions: instructions.filter((_, other) => other !== at) };
  }
  for (const [at, instruction] of instructions.entries()) {
    const put = (changed: typeof instruction): Plan => ({
      ...plan,
      instructions: instructions.with(at, changed),
    });
    const { accounts, data } = instruction;
    for (let gone = accounts.length - 1; gone >= 0; gone -= 1) {
      yield put({ ...instruction, accounts: accounts.filter((_, other) => other !== gone) });
    }
    for (const length of [8, data.length >> 1, data.length - 1]) {
      if (length < data.length && length >= 0) yield put({ ...instruction, data: partOf(data, 0, length) });
    }
  }
}

export function shrink(plan: Plan, shows: (plan: Plan) => boolean): Plan {
  let best = plan;
  for (;;) {
    let next: Plan | undefined;
    for (const candidate of smaller(best)) {
      if (!shows(candidate)) continue;
      next = candidate;
      break;
    }
    if (next === undefined) return best;
    best = next;
  }
}
