/** Collects what is wrong with an input, to report all of it at once. */
import { listProblems } from '../../contract/validate.js';
import { FlywheelError } from '../../errors/flywheel-error.js';

/** Problems that are kept word for word; of more only the number is given. */
const MAX_KEPT = 1_000;

/** Problems of one input. */
export class Problems {
  readonly #name: string;
  readonly #kept: string[] = [];
  #count = 0;

  constructor(name: string) {
    this.#name = name;
  }

  get count(): number {
    return this.#count;
  }

  /** Notes a problem at a place: `[3].proof`, `line 7`; the reason has no full stop. */
  add(place: string, reason: string): void {
    this.#count += 1;
    if (this.#kept.length < MAX_KEPT) this.#kept.push(place === '' ? reason : `${place}: ${reason}`);
  }

  /** Notes a problem that the contract's check named by its path within the element at `place`. */
  addAt(place: string, problem: string): void {
    const path = /^([A-Za-z_$[][^:\s]*): /.exec(problem)?.[1];
    if (path === undefined) this.add(place, problem);
    else this.add(`${place}${path.startsWith('[') ? '' : '.'}${path}`, problem.slice(path.length + 2));
  }

  /** @throws `ERR_INPUT_INVALID` when there is any. */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#kept.length;
    const list = listProblems([...this.#kept, ...Array.from({ length: more }, () => '')], MAX_KEPT);
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `${this.#name}: ${this.#count} problem${this.#count === 1 ? '' : 's'}; nothing was sent: ${list}.`,
    );
  }
}
