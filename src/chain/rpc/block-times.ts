/** When blocks were made, as far as nodes say; those asked for last are remembered. */
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { NodePool } from './node-pool.js';
import { blockTimeQuestion } from './sending-questions.js';

/** Times of blocks that are remembered. */
const MAX_BLOCK_TIMES = 64;

/** Of the nodes of a pool. */
export class BlockTimes {
  readonly #pool: NodePool;
  readonly #known = new Map<number, number>();

  constructor(pool: NodePool) {
    this.#pool = pool;
  }

  /** When a block was made; 0 where no node says. */
  async ofMs(slot: number): Promise<number> {
    const known = this.#known.get(slot);
    if (known !== undefined) return known;
    const timeMs = await this.#toldMs(slot);
    if (timeMs === null) return 0;
    if (this.#known.size >= MAX_BLOCK_TIMES) this.#known.clear();
    this.#known.set(slot, timeMs);
    return timeMs;
  }

  /** What has landed has, though its block be gone from a node, or not there yet: no answer about its time takes that back. */
  async #toldMs(slot: number): Promise<number | null> {
    try {
      const [voice] = await this.#pool.ask(blockTimeQuestion(slot));
      return voice?.value ?? null;
    } catch (error) {
      if (isFlywheelError(error, 'ERR_UNAVAILABLE') || isFlywheelError(error, 'ERR_RESPONSE_INVALID'))
        return null;
      throw error;
    }
  }
}
