/** Which path answers what: one loop over the contract's operations; the other methods of their paths are 405. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { OPERATIONS, type Operation } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { createOperationHandler, type ServeContext } from './serve-operation.js';

/** Answers before the framework looks at the body, so that nothing is judged out of turn. */
type EarlyHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

interface EarlyRoute {
  readonly method: HTTPMethods | HTTPMethods[];
  readonly path: string;
  readonly handle: EarlyHandler;
}

/** `/batch/{batchId}` as the router writes it. */
const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

function addEarlyRoute(app: FastifyInstance, route: EarlyRoute): void {
  app.route({
    method: route.method,
    url: route.path,
    onRequest: route.handle,
    handler: async (_request, reply) => reply,
  });
}

/** Adds a path with the only method it has; every other method is told so. */
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

/** Adds the six operations. */
export function addOperations(app: FastifyInstance, context: ServeContext): void {
  for (const operation of Object.values<Operation>(OPERATIONS)) {
    addRoute(app, {
      method: operation.method,
      path: context.settings.basePath + routerPath(operation.path),
      handle: createOperationHandler(context, operation),
    });
  }
}
