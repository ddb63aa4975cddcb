/** One spelling for each host of a URL. */

const LOOPBACK = /^(?:localhost|\[::1\])$/;
/** An IPv4 address inside an IPv6 address (RFC 4291, section 2.5.5.2), as URL writes it. */
const MAPPED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

const dotted = (...words: readonly string[]): string =>
  words.flatMap((word) => [Number.parseInt(word, 16) >> 8, Number.parseInt(word, 16) & 0xff]).join('.');

/** Host and port, with names of this machine as 127.0.0.1, without a final dot and a default port. */
export function hostOf({ hostname, port }: URL): string {
  const name = hostname
    .replace(/\.$/, '')
    .replace(MAPPED, (_, high: string, low: string) => dotted(high, low))
    .replace(LOOPBACK, '127.0.0.1');
  return port === '' ? name : `${name}:${port}`;
}
