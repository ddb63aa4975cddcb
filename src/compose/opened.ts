/** What has been opened so far, to be closed again whatever happens next. */

export class Opened {
  readonly #closers: (() => unknown)[] = [];

  keep<Thing extends { close(): unknown }>(thing: Thing): Thing {
    this.#closers.push(() => thing.close());
    return thing;
  }

  /** The latest first. */
  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
