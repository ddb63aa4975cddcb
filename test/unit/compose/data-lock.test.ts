import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ownDataDirectory, setUpDataDirectory, shareDataDirectory } from '../../../src/compose/data-lock.js';
import { emptyDirectory } from '../../support/spawn.js';

let path: string;
beforeEach(() => {
  path = join(emptyDirectory(), 'lock');
});

const UNAVAILABLE = expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' });

describe('setUpDataDirectory', () => {
  it('lets others work in the directory, and none wipe it', async () => {
    const lock = await setUpDataDirectory(path);
    const working = await shareDataDirectory(path);
    working.close();
    await expect(ownDataDirectory(path)).rejects.toEqual(UNAVAILABLE);
    lock.close();
    (await ownDataDirectory(path)).close();
  });

  it('waits for another that sets it up', async () => {
    const first = await setUpDataDirectory(path);
    const order: string[] = [];
    const second = setUpDataDirectory(path).then((lock) => {
      order.push('second');
      return lock;
    });
    // Shared locks permit other processes that only work in the directory.
    (await shareDataDirectory(path)).close();
    order.push('first');
    first.close();
    (await second).close();
    expect(order).toEqual(['first', 'second']);
  });

  it('gives up where that takes too long, and while the directory is wiped', async () => {
    const first = await setUpDataDirectory(path);
    await expect(setUpDataDirectory(path, 0)).rejects.toEqual(UNAVAILABLE);
    first.close();
    const wiping = await ownDataDirectory(path);
    await expect(setUpDataDirectory(path, 0)).rejects.toEqual(UNAVAILABLE);
    await expect(shareDataDirectory(path)).rejects.toThrow(
      'another flywheel process copies, sets up or deletes the data directory.',
    );
    wiping.close();
  });
});
