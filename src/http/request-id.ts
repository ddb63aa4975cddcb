/** The id that a request bears in headers, logs and errors: the caller's when it is harmless, else a fresh one. */
import { randomUUID } from 'node:crypto';

const HARMLESS = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/** A header value as a request id. */
export const requestIdFrom = (header: string | readonly string[] | undefined): string =>
  typeof header === 'string' && HARMLESS.test(header) ? header : randomUUID();
