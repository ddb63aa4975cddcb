/** Reads a request's bytes up to a limit, at most one piece in each turn of the event loop once there are many. */
import { MAX_JSON_OBJECTS } from '../contract/limits.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { BodyBudget, BodyLease } from './body-budget.js';
import { ArrivingValues } from './count-arriving.js';
import type { RequestLife } from './request-life.js';

/** A body up to this size is read and checked at once. */
export const SMALL_BODY_BYTES = 64 * 1_024;

/** Bytes of framing that every body may have; beyond them no more than the body itself has. */
const FREE_FRAMING_BYTES = 128 * 1_024;
/** Pieces below this size are put together, since each costs memory of its own. */
const SMALL_PIECE_BYTES = 4_096;

/** What may be read of a body. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxJsonValues: number;
  readonly budget: BodyBudget;
}

const tooLarge = (limitBytes: number): FlywheelError =>
  new FlywheelError('ERR_PAYLOAD_TOO_LARGE', `The body is larger than ${limitBytes} bytes.`);

const cutOff = (cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', 'The body was cut off.', { cause });

/**
 * All bytes of the body, in pieces; the list is the caller's, and nobody else holds them.
 * @throws `ERR_PAYLOAD_TOO_LARGE` at once when content-length says so, else with the first byte too many;
 * or with the first value too many; `ERR_INVALID_REQUEST` when it is cut off, or is hardly more than the framing of its chunks; `ERR_UNAVAILABLE` when too many
 * large ones are held.
 */
export function collectBody(life: RequestLife, limits: BodyLimits): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const { request } = life;
    const body = new ArrivingBody(life, limits);
    let isScheduled = false;
    const fail = (error: unknown): void => {
      request.off('readable', onReadable);
      // Flowing without a listener discards the rest, so that the caller who is still sending gets to read the answer.
      request.resume();
      reject(error);
    };
    const take = (): void => {
      isScheduled = false;
      try {
        body.take();
      } catch (error) {
        fail(error);
      }
    };
    const onReadable = (): void => {
      if (body.isSmall) take();
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(take);
      }
    };
    life.onBroken(fail);
    const onClose = (): void => fail(cutOff());
    request.once('error', (cause) => fail(cutOff(cause)));
    request.once('close', onClose);
    request.once('end', () => {
      // It closes after its end too, and to make an error that nobody hears of takes longer than to read a small body.
      request.off('close', onClose);
      resolve(body.pieces());
    });
    if (Number(request.headers['content-length'] ?? 0) > limits.maxBytes) fail(tooLarge(limits.maxBytes));
    else request.on('readable', onReadable);
  });
}

/** The bytes that have arrived so far. */
class ArrivingBody {
  readonly #life: RequestLife;
  readonly #maxBytes: number;
  readonly #lease: BodyLease;
  readonly #receivedBefore: number;
  readonly #pieces: Buffer[] = [];
  /** Where small pieces are put together, and how full it is. */
  #block: Buffer | undefined;
  #blockBytes = 0;
  #sizeBytes = 0;
  readonly #values: ArrivingValues;

  constructor(life: RequestLife, { maxBytes, maxJsonValues, budget }: BodyLimits) {
    this.#values = new ArrivingValues({ maxValues: maxJsonValues, maxObjects: MAX_JSON_OBJECTS });
    this.#life = life;
    this.#maxBytes = maxBytes;
    this.#lease = budget.lease(life);
    this.#receivedBefore = life.request.socket.bytesRead;
  }

  get isSmall(): boolean {
    return this.#sizeBytes <= SMALL_BODY_BYTES;
  }

  pieces(): Buffer[] {
    this.#closeBlock();
    return this.#pieces;
  }

  /** Takes what is there. */
  take(): void {
    const piece = this.#life.request.read() as Buffer | null;
    if (piece === null) return;
    this.#sizeBytes += piece.length;
    if (this.#sizeBytes > this.#maxBytes) throw tooLarge(this.#maxBytes);
    this.#refuseEmptyChunks();
    this.#values.add(piece);
    if (!this.isSmall) this.#lease.growTo(this.#sizeBytes);
    if (piece.length < SMALL_PIECE_BYTES && this.#sizeBytes > piece.length) this.#copy(piece);
    else {
      this.#closeBlock();
      this.#pieces.push(piece);
    }
  }

  #copy(piece: Buffer): void {
    this.#block ??= Buffer.allocUnsafe(SMALL_BODY_BYTES);
    piece.copy(this.#block, this.#blockBytes);
    this.#blockBytes += piece.length;
    if (this.#blockBytes > SMALL_BODY_BYTES - SMALL_PIECE_BYTES) this.#closeBlock();
  }

  #closeBlock(): void {
    if (this.#block === undefined) return;
    this.#pieces.push(this.#block.subarray(0, this.#blockBytes));
    this.#block = undefined;
    this.#blockBytes = 0;
  }

  /** Each chunk costs the same to take, and a body of ten million chunks would cost seconds. */
  #refuseEmptyChunks(): void {
    const framing = this.#life.request.socket.bytesRead - this.#receivedBefore - this.#sizeBytes;
    if (framing <= FREE_FRAMING_BYTES + this.#sizeBytes) return;
    throw new FlywheelError('ERR_INVALID_REQUEST', 'The body comes in too many small chunks.');
  }
}
