/** Closes resources in reverse order of opening. */
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

export async function whileOpen<Result>(work: (opened: Opened) => Promise<Result>): Promise<Result> {
  const opened = new Opened();
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Closes everything that `work` opened only if it fails; otherwise its result does. */
export async function opening<Result>(work: (opened: Opened) => Promise<Result>): Promise<Result> {
  const opened = new Opened();
  try {
    return await work(opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}
