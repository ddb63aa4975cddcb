/** What the handlers of one server share. */
import type { BodyLimits } from './collect-body.js';
import type { Metrics } from './metrics.js';
import type { HttpServerDeps, HttpSettings } from './options.js';
import type { BodyReading } from './read-body.js';
import type { RequestLives } from './request-life.js';
import type { Shutdown } from './shutdown.js';

export interface ServeContext {
  readonly deps: HttpServerDeps;
  readonly settings: HttpSettings;
  readonly metrics: Metrics;
  readonly lives: RequestLives;
  readonly bodies: BodyLimits & BodyReading;
  readonly shutdown: Shutdown;
  /** The host that the server was asked to listen on, once it does. */
  readonly listeningOn: () => string | undefined;
}
