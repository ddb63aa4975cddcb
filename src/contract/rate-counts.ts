/** Where requests are counted for the rate limits: the port that a file of one machine, and a database of many, stand behind. */

/** One request to be counted. */
export interface RateTake {
  readonly key: string;
  /** Time in which one point comes back. */
  readonly intervalUs: number;
  /** Time in which all points come back. */
  readonly periodUs: number;
}

/** What the store says of one request. */
export interface RateTaken {
  readonly allowed: boolean;
  /** How long from now all points will be there again, this request counted if it is allowed; at most the period. */
  readonly wholeAfterUs: number;
}

/** Where requests are counted, by its own clock; at once, or after a question to a database. */
export interface RateCounts {
  /** Counts all of them, in their order, or none. */
  take(requests: readonly RateTake[]): readonly RateTaken[] | Promise<readonly RateTaken[]>;
}

/** Requests of one key and limit, which are counted together. */
export interface RateGroup extends RateTake {
  readonly requests: readonly RateTake[];
}

/** Those of different keys do not touch each other. */
export function groupTakes(requests: readonly RateTake[]): readonly RateGroup[] {
  const groups = new Map<string, RateTake[]>();
  for (const request of requests) {
    const name = `${request.intervalUs} ${request.periodUs} ${request.key}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [request]);
    else group.push(request);
  }
  return [...groups.values()].map((alike) => ({ ...(alike[0] as RateTake), requests: alike }));
}

/** What of a group was allowed. @param whole - how long from now all points will be there again, all that was allowed counted. */
export function shareOut(
  { requests, intervalUs }: RateGroup,
  fitting: number,
  wholeUs: number,
  into: Map<RateTake, RateTaken>,
): void {
  for (const [at, request] of requests.entries()) {
    const later = Math.max(0, fitting - 1 - at);
    into.set(request, { allowed: at < fitting, wholeAfterUs: wholeUs - later * intervalUs });
  }
}
