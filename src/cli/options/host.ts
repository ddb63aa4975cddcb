/** The address on which something listens. */

/** Does only this machine reach it? */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);
