/** How much memory the large bodies of a server may take together, so that many at once cannot end it. */
import { FlywheelError } from '../errors/flywheel-error.js';
import type { RequestLife } from './request-life.js';

/** The part of one request. */
export interface BodyLease {
  /** @throws `ERR_UNAVAILABLE` when others hold too much. */
  growTo(bytes: number): void;
}

/** Bytes of large bodies that the requests of a server hold together. */
export class BodyBudget {
  readonly #maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** A part that is given back when the request ends. */
  lease(life: RequestLife): BodyLease {
    let heldBytes = 0;
    life.atEnd(() => {
      this.#usedBytes -= heldBytes;
    });
    return {
      growTo: (bytes) => {
        const more = bytes - heldBytes;
        if (this.#usedBytes + more > this.#maxBytes) {
          throw new FlywheelError('ERR_UNAVAILABLE', 'Too many large requests are being read.');
        }
        heldBytes = bytes;
        this.#usedBytes += more;
      },
    };
  }
}
