/** The page of `report --html` in a real Chromium: light and dark, wide and narrow, by keyboard and screen reader. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { emptyDirectory, flywheel } from '../support/spawn.js';
import { type OpenPage, openBrowser } from './browser.js';
import { expectReadable } from './contrast.js';

let opened: OpenPage | undefined;
afterEach(() => opened?.close());

async function makePage(): Promise<string> {
  const home = emptyDirectory();
  const run = async (...words: string[]): Promise<void> => {
    const { exit, stderr } = await flywheel({ home }, ...words);
    if (exit !== 0) throw new TypeError(`${words.join(' ')}: ${stderr}`);
  };
  await run('local', 'init', '--yes');
  for (const type of ['PRODUCT_BUY', 'WATCH_AD'])
    await run('burn', '--type', type, '--proof', '{"order":1}', '--amount', '1234.5');
  const file = join(home, 'report.html');
  await run('report', '--by', 'day,type', '--html', file);
  return pathToFileURL(file).href;
}

it('can be read in light and dark, on a phone, and by keyboard', async () => {
  const url = await makePage();
  for (const colorScheme of ['light', 'dark'] as const) {
    opened = await openBrowser('', { colorScheme });
    const { page, complaints, requests } = opened;
    await expectReadable(page, url);
    expect(await page.getByText('2,469').count()).toBeGreaterThan(0);
    expect(await page.getByRole('row').count()).toBe(3);
    // The table may scroll.
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('table');
    expect(complaints).toEqual([]);
    expect(requests.filter((address) => !address.startsWith('file:'))).toEqual([]);
    await opened.close();
    opened = undefined;
  }
});
