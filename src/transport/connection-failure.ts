/** Messages for failed and broken connections, and whether to retry. */
import { visibleLine } from '../values/text.js';

/** Without a connection nothing of the request has left this machine. */
export interface ConnectionProblem {
  /** Begins with a small letter and has no full stop. */
  readonly reason: string;
  readonly hint?: string;
  readonly retryable: boolean;
}

const MAX_NAMES_LENGTH = 200;
const MAX_CODE_LENGTH = 60;

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** Connecting to several addresses fails with several errors. */
function rootCause(error: unknown): unknown {
  const inner = error instanceof AggregateError ? error.errors[0] : undefined;
  return inner ?? error;
}

const codeOf = (thrown: unknown): string => {
  const error = rootCause(thrown);
  const code = String(field(error, 'code') ?? field(error, 'name') ?? 'unknown');
  return visibleLine(code).slice(0, MAX_CODE_LENGTH);
};

const OWN_AUTHORITY =
  'If the service has its own certificate authority, set NODE_EXTRA_CA_CERTS to the file of its certificate.';
const NOBODY_LISTENS = 'No server is running there. Start one with `flywheel serve`, or use --local.';
const CLOCK = 'Check the clock of this machine. If it is right, the service must renew its certificate.';

/** Without a full stop. A leading host name keeps its case. */
export const sentenceOf = (reason: string, host: string): string =>
  reason.startsWith(host) ? reason : reason.charAt(0).toUpperCase() + reason.slice(1);

const unreached = (host: string, code: string): string => `${host} cannot be reached (${code})`;

export const hintForService = (reason: string, host: string): { readonly hint?: string } =>
  reason === unreached(host, 'ECONNREFUSED') ? { hint: NOBODY_LISTENS } : {};

interface TlsRule {
  readonly code: RegExp;
  readonly reason: (host: string, error: unknown) => string;
  readonly hint: string;
}

const untrusted = (why: string) => (host: string) => `the certificate of ${host} is not trusted: it ${why}`;

function namesOf(error: unknown): string {
  const names = field(field(error, 'cert'), 'subjectaltname');
  if (typeof names !== 'string' || names === '') return '';
  return ` (${visibleLine(names).slice(0, MAX_NAMES_LENGTH)})`;
}

const TLS_RULES: readonly TlsRule[] = [
  { code: /^CERT_HAS_EXPIRED$/, reason: untrusted('has expired'), hint: CLOCK },
  { code: /^CERT_NOT_YET_VALID$/, reason: untrusted('is not valid yet'), hint: CLOCK },
  {
    code: /^ERR_TLS_CERT_ALTNAME/,
    reason: (host, error) => untrusted(`is for another name${namesOf(error)}`)(host),
    hint: 'Use the API address with a name that the certificate is for.',
  },
  {
    code: /SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|CERT_/,
    reason: untrusted('is from an unknown authority'),
    hint: OWN_AUTHORITY,
  },
  {
    code: /^ERR_SSL|^EPROTO$|WRONG_VERSION_NUMBER/,
    reason: (host) => `${host} does not speak TLS as expected`,
    hint: 'Check host and port. An http address works only for this machine.',
  },
];

/** In place of an error: the peer closed, or the timeout expired. */
export const CLOSED = 'closed the connection during the handshake';
export const TOO_LATE = 'took too long to connect';

export function connectionProblem(thrown: unknown, host: string): ConnectionProblem {
  if (thrown === CLOSED || thrown === TOO_LATE) return { reason: `${host} ${thrown}`, retryable: true };
  const error = rootCause(thrown);
  const code = codeOf(error);
  const rule = TLS_RULES.find((each) => each.code.test(code));
  if (rule === undefined) return { reason: unreached(host, code), retryable: true };
  return { reason: `${rule.reason(host, error)} (${code})`, hint: rule.hint, retryable: false };
}

/** Of a proxy that was asked for a tunnel. */
export function howEnded(ending: unknown): string {
  if (ending === TOO_LATE) return 'stayed silent';
  return codeOf(ending).startsWith('HPE_') ? 'answered with something that is not HTTP' : 'broke off';
}

export const noTunnel = (proxyHost: string, host: string, how: string): ConnectionProblem => ({
  reason: `the proxy ${proxyHost} ${how} instead of connecting to ${host}`,
  hint: 'Check HTTPS_PROXY and NO_PROXY.',
  retryable: true,
});

export function refusedByProxy(status: number, proxyHost: string, host: string): ConnectionProblem {
  const problem = noTunnel(proxyHost, host, `answered ${status}`);
  if (status !== 407) return { ...problem, retryable: status >= 500 };
  return {
    ...problem,
    hint: 'The proxy needs a user and a password: HTTPS_PROXY=http://user:password@host:port',
    retryable: false,
  };
}

const BREAKS: readonly { readonly code: RegExp; readonly reason: (host: string) => string }[] = [
  { code: /^HPE_|^HTTPParserError$/, reason: (host) => `${host} did not answer with HTTP` },
  { code: /^UND_ERR_HEADERS_OVERFLOW$/, reason: (host) => `the header lines of ${host} are too long` },
  { code: /CONTENT_LENGTH_MISMATCH$/, reason: (host) => `the answer of ${host} has the wrong length` },
];

export function brokenConnection(thrown: unknown, host: string): ConnectionProblem {
  const code = codeOf(thrown);
  const known = BREAKS.find((each) => each.code.test(code));
  return { reason: `${known?.reason(host) ?? `the connection to ${host} broke`} (${code})`, retryable: true };
}
