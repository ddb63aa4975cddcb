/** What has been opened so far, to be closed again whatever happens next. */
export class Opened {
  readonly #closers: (() => unknown)[] = [];

  keep<Thing extends { close(): unknown }>(thing: Thing): Thing {
    this.#closers.push(() => thing.close());
    return thing;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

/** Closes at the end what the work has opened. */
export async function whileOpen<Result>(work: (opened: Opened) => Promise<Result>): Promise<Result> {
  const opened = new Opened();
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Closes what the work has opened only where it fails; else that is up to whoever has the result. */
export async function opening<Result>(work: (opened: Opened) => Promise<Result>): Promise<Result> {
  const opened = new Opened();
  try {
    return await work(opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}
