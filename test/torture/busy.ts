/**
 * `batch run` beside `burn-batch`, each in processes of their own on one data directory, without a pause: every batch comes to
 * its end by itself, and what is burned is what was asked for.
 */
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../fuzz/random.js';
import { aPipeline, burnAction } from '../support/engine.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';
import type { OpenTorture, TorturePart } from './part.js';

const MICRO = 1_000_000;
const BURNERS = 3;
const ELEMENTS = 10_000;
/** Runs beside each other. */
const AT_ONCE = 5;

class BusyTorture implements OpenTorture {
  readonly #home: string;
  readonly #keypair: string;
  readonly #burning: Promise<unknown>;
  #isOver = false;
  /** Base units that successes have burned. */
  #burned = 0;

  constructor(home: string, keypair: string) {
    this.#home = home;
    this.#keypair = keypair;
    this.#burning = Promise.all(Array.from({ length: BURNERS }, () => this.#burn()));
    // It is awaited when all is over, and not before, so that until then nobody hears of its failure.
    this.#burning.catch(() => undefined);
  }

  async round(random: Random): Promise<void> {
    const units = Array.from({ length: AT_ONCE }, () => 1 + random.below(9));
    await Promise.all(units.map((own) => this.#run(own)));
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#burning;
    const { burned } = JSON.parse(await this.#flywheel('local', 'status')) as { burned: string };
    assert.equal(Math.round(Number(burned) * MICRO), this.#burned, 'Not all was burned once.');
    rmSync(this.#home, { recursive: true, force: true });
  }

  async #run(units: number): Promise<void> {
    const payload = JSON.stringify({ run: randomUUID() });
    const file = this.#write({ pipelines: [aPipeline([burnAction(units / MICRO)], { payload })] });
    await this.#flywheel('batch', 'run', file, '--keypair', this.#keypair, '--yes');
    this.#burned += units;
  }

  async #burn(): Promise<void> {
    while (!this.#isOver) {
      const run = randomUUID();
      const burn = { type: 'PRODUCT_BUY', burnAmount: 1 / MICRO, persistOnchain: false };
      const file = this.#write(
        Array.from({ length: ELEMENTS }, (_, index) => ({ ...burn, proof: { run, index } })),
      );
      await this.#flywheel('burn-batch', file, '--yes');
      this.#burned += ELEMENTS;
    }
  }

  #write(value: unknown): string {
    const file = join(this.#home, `${randomUUID()}.json`);
    writeFileSync(file, JSON.stringify(value));
    return file;
  }

  async #flywheel(...words: string[]): Promise<string> {
    const { exit, stdout, stderr } = await flywheel({ home: this.#home }, ...words, '--json');
    assert.equal(exit, 0, `${words.slice(0, 2).join(' ')}: ${stderr}`);
    return stdout;
  }
}

/** A ledger that grows without a pause while owners approve. */
export const tortureBusy: TorturePart = {
  of: `${AT_ONCE} \`batch run\` at once`,
  async open() {
    const home = emptyDirectory();
    const { exit, stdout, stderr } = await flywheel({ home }, 'local', 'init', '--json');
    assert.equal(exit, 0, stderr);
    const { owner } = JSON.parse(stdout) as { owner: { keypair: string } };
    return new BusyTorture(home, owner.keypair);
  },
};
