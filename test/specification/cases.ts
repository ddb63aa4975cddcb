/** Declares cases of the specification: each gets the service on which its suite runs at the moment. */
import { it as declare } from 'vitest';
import type { Api } from './api.js';

let current: Api | undefined;

/** The next cases run on this service. */
export function runOn(api: Api): void {
  current = api;
}

export function running(): Api {
  if (current === undefined) throw new TypeError('The service has not been opened yet.');
  return current;
}

export const it = (name: string, act: (api: Api) => unknown): void =>
  declare(name, async () => void (await act(running())));
