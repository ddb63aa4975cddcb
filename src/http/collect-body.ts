/** Reads a request's bytes up to a limit; what comes after the limit is let go by unread. */
import type { IncomingMessage } from 'node:http';
import { FlywheelError } from '../errors/flywheel-error.js';

const tooLarge = (limitBytes: number): FlywheelError =>
  new FlywheelError('ERR_PAYLOAD_TOO_LARGE', `The body is larger than ${limitBytes} bytes.`);

/**
 * All bytes of the body.
 * @throws `ERR_PAYLOAD_TOO_LARGE` at once when content-length says so, else with the first byte too many.
 */
export function collectBody(request: IncomingMessage, limitBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > limitBytes) {
      reject(tooLarge(limitBytes));
      return;
    }
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    const onData = (chunk: Buffer): void => {
      sizeBytes += chunk.length;
      if (sizeBytes <= limitBytes) {
        chunks.push(chunk);
        return;
      }
      request.off('data', onData);
      chunks.length = 0;
      // Flowing without a listener discards the rest, so that the caller who is still sending gets to read the answer.
      request.resume();
      reject(tooLarge(limitBytes));
    };
    request.on('data', onData);
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', (cause) =>
      reject(new FlywheelError('ERR_INVALID_REQUEST', 'The body was cut off.', { cause })),
    );
  });
}
