/** Where requests are counted for the rate limits: in the memory of one server, or in the database of several. */

/** One request to be counted. */
interface RateTake {
  readonly key: string;
  /** Time in which one point comes back. */
  readonly intervalUs: number;
  /** Time in which all points come back. */
  readonly periodUs: number;
}

interface RateTaken {
  readonly allowed: boolean;
  /** How long from now all points will be there again, this request counted if it is allowed; at most the period. */
  readonly wholeAfterUs: number;
}

export interface RateCounts {
  /** Counts a request, unless it is refused. */
  take(request: RateTake): RateTaken | Promise<RateTaken>;
}
