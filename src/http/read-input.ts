/** A request → the input of its operation: from the path, the query of a GET, the body of a POST. Shapes are not judged here. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { MAX_PATH_PARAMETER_LENGTH } from '../contract/limits.js';
import { needsNoBody, type Operation } from '../contract/operations.js';
import { invalidRequest } from '../contract/validate.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { isJsonObject } from '../values/canonical-json.js';
import { collectBody } from './collect-body.js';
import { checkMediaType, readJsonBody } from './read-body.js';
import type { RequestLife } from './request-life.js';
import type { ServeContext } from './serve-context.js';

function pathInput(request: FastifyRequest): Readonly<Record<string, string>> {
  const inPath = request.params as Readonly<Record<string, string>>;
  for (const value of Object.values(inPath)) {
    if (value.length <= MAX_PATH_PARAMETER_LENGTH) continue;
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `An id in the path has at most ${MAX_PATH_PARAMETER_LENGTH} characters.`,
    );
  }
  return inPath;
}

/** Query parameters; what is text in a URL and a number in the contract becomes one. */
function queryInput(request: FastifyRequest): Readonly<Record<string, unknown>> {
  const query = request.query as Readonly<Record<string, unknown>>;
  const { limit } = query;
  return typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? { ...query, limit: Number(limit) } : query;
}

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/** @throws `ERR_INVALID_REQUEST`, `ERR_UNSUPPORTED_MEDIA_TYPE`, `ERR_PAYLOAD_TOO_LARGE`, `ERR_UNAVAILABLE` */
export async function readInput(
  { bodies }: Pick<ServeContext, 'bodies'>,
  operation: Operation,
  request: FastifyRequest,
  life: RequestLife,
): Promise<unknown> {
  const inPath = pathInput(request);
  if (operation.method === 'GET') return { ...queryInput(request), ...inPath };
  if (needsNoBody(operation) && !hasBody(request.headers)) return inPath;
  checkMediaType(request.headers);
  const body = await readJsonBody(await collectBody(life, bodies), bodies);
  if (!needsNoBody(operation)) return body;
  if (!isJsonObject(body)) throw invalidRequest(['expected an object']);
  const taken = Object.keys(inPath).find((name) => Object.hasOwn(body, name));
  if (taken !== undefined) throw invalidRequest([`${taken}: it is in the path`]);
  return { ...body, ...inPath };
}
