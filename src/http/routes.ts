/** Which path answers what: one loop over the contract's operations; the other methods of their paths are 405. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { OPERATION_LIST } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { answerProblem } from './answer-problem.js';
import { RequestLife } from './request-life.js';
import type { ServeContext } from './serve-context.js';
import { createOperationHandler } from './serve-operation.js';

/**
 * Answers before the framework looks at the body, so that nothing is judged out of turn. It does not return the reply, which
 * is a promise for the end of its own connection.
 */
type EarlyHandler = (request: FastifyRequest, reply: FastifyReply, life: RequestLife) => Promise<void>;

interface EarlyRoute {
  readonly method: HTTPMethods | HTTPMethods[];
  readonly path: string;
  readonly handle: EarlyHandler;
}

/** `/batch/{batchId}` as the router writes it. */
const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** The request does not end before its handler has, whatever becomes of its connection; it gets one answer. */
async function handle(route: EarlyRoute, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const life = RequestLife.of(request.raw);
  life.onRefused((error) => {
    if (life.mayAnswer()) answerProblem(error, life, request, reply);
  });
  life.workBegins();
  try {
    await route.handle(request, reply, life);
  } catch (thrown) {
    if (life.mayAnswer()) answerProblem(thrown, life, request, reply);
  } finally {
    life.workEnds();
  }
}

function addEarlyRoute(app: FastifyInstance, route: EarlyRoute): void {
  app.route({
    method: route.method,
    url: route.path,
    // Without `done`: what comes after it is never wanted.
    onRequest: (request, reply, _done) => void handle(route, request, reply),
    handler: async (_request, reply) => reply,
  });
}

/** Adds a path with the only method it has; every other method is answered so. */
export function addRoute(
  app: FastifyInstance,
  route: { readonly method: 'GET' | 'POST'; readonly path: string; readonly handle: EarlyHandler },
): void {
  addEarlyRoute(app, route);
  const others = app.supportedMethods.filter((method) => method !== route.method) as HTTPMethods[];
  addEarlyRoute(app, {
    method: others,
    path: route.path,
    handle: async (request, reply) => {
      reply.header('allow', route.method);
      throw new FlywheelError(
        'ERR_METHOD_NOT_ALLOWED',
        `${request.method} is not allowed here; use ${route.method}.`,
      );
    },
  });
}

/** Adds the operations. */
export function addOperations(app: FastifyInstance, context: ServeContext): void {
  for (const operation of OPERATION_LIST) {
    addRoute(app, {
      method: operation.method,
      path: context.settings.basePath + routerPath(operation.path),
      handle: createOperationHandler(context, operation),
    });
  }
}
