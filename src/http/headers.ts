/** Header lines of requests and answers. Headers that two programs could parse differently are refused. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ReplyMeta } from '../contract/call.js';
import * as names from '../contract/headers.js';
import { encodeBatchCost } from '../contract/headers.js';
import { type Operation, SUCCESSOR } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { Secret } from '../values/secret.js';
import type { HttpSettings } from './options.js';

export const requestIdFrom = (header: string | readonly string[] | undefined): string =>
  typeof header === 'string' && /^[A-Za-z0-9._~:+/=@-]{1,128}$/.test(header) ? header : randomUUID();

/** Node keeps the first of repeated headers; another program might keep the last (request smuggling). */
const SINGLE = new Set(['host', 'content-type', 'transfer-encoding', 'authorization']);

/** Node silently drops header lines beyond its maximum. */
export const MAX_HEADER_LINES = 256;

function headerProblem({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  const lines = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  if (lines.length > MAX_HEADER_LINES) return `There are more than ${MAX_HEADER_LINES} header lines.`;
  const repeated = lines.find((name, at) => SINGLE.has(name) && lines.indexOf(name) !== at);
  if (repeated !== undefined) return `The header ${repeated} must not be repeated.`;
  if (headers.host === undefined && httpVersion === '1.1') return 'The header host is missing.';
  if ((headers.expect ?? '100-continue').toLowerCase() !== '100-continue')
    return 'The only supported expectation is 100-continue.';
  const coding = headers['transfer-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'chunked') return undefined;
  return 'The only supported transfer-encoding is chunked.';
}

/** @throws `ERR_INVALID_REQUEST` for a missing, repeated or invalid header, or too many header lines. */
export function checkRequestHeaders({ raw }: FastifyRequest, reply: FastifyReply): void {
  const problem = headerProblem(raw);
  if (problem === undefined) return;
  // Bytes after such a request on the same connection cannot be trusted.
  reply.header('connection', 'close');
  throw new FlywheelError('ERR_INVALID_REQUEST', problem);
}

export function readCredential(
  { headers }: IncomingMessage,
  { apiKeyHeader, bearer }: HttpSettings,
): Secret | null {
  const key = headers[apiKeyHeader];
  if (key !== undefined) return typeof key === 'string' && key !== '' ? new Secret(key) : null;
  const token = bearer ? /^bearer +([^\s]+)$/i.exec(headers.authorization ?? '')?.[1] : undefined;
  return token === undefined ? null : new Secret(token);
}

export function givenIdempotencyKey({ headers }: IncomingMessage): { readonly idempotencyKey?: string } {
  const idempotencyKey = headers[names.IDEMPOTENCY_KEY_HEADER];
  return typeof idempotencyKey === 'string' ? { idempotencyKey } : {};
}

export const readIdempotencyKey = (operation: Operation, request: IncomingMessage): string | undefined =>
  names.checkIdempotencyKey(givenIdempotencyKey(request).idempotencyKey, operation.idempotencyKey);

/** Deprecated since 2026-01-01, in Unix seconds (RFC 9745). */
export function operationHeaders({ deprecated }: Operation): Record<string, string> {
  if (!deprecated) return {};
  const link = `<${SUCCESSOR.path}>; rel="successor-version", </openapi.json>; rel="deprecation"; type="application/json"`;
  return { deprecation: '@1767225600', link };
}

export const metaHeaders = ({ replayed, cost }: ReplyMeta): Record<string, string> => ({
  ...(replayed ? { [names.IDEMPOTENT_REPLAYED_HEADER]: 'true' } : {}),
  ...(cost === undefined ? {} : { [names.BATCH_COST_HEADER]: encodeBatchCost(cost) }),
});
