/** The documentation page in a real Chromium, in light and dark, wide and narrow, by keyboard; and its samples in curl. */
import { afterEach, expect, it } from 'vitest';
import { OPERATION_LIST } from '../../src/contract/operations.js';
import { type OpenPage, openBrowser } from '../support/browser.js';
import { LEAST_CONTRAST } from '../support/contrast.js';
import { walkThrough } from '../support/docs-samples.js';
import { initHome, type ServeProcess, serve } from '../support/http-serve.js';

let opened: OpenPage | undefined;
let server: ServeProcess | undefined;
afterEach(async () => {
  await opened?.close();
  await server?.end('SIGKILL');
  opened = undefined;
  server = undefined;
});

it.each(['light', 'dark'] as const)('can be read in %s, on a phone too', async (colorScheme) => {
  server = await serve(await initHome());
  opened = await openBrowser('', { colorScheme });
  const { page, complaints, requests } = opened;
  for (const width of [1_200, 400]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${server.url}/`);
    expect(page.url()).toBe(`${server.url}/docs`);
    expect(
      await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'),
    ).toBeLessThanOrEqual(0);
    expect(await page.evaluate(LEAST_CONTRAST)).toBeGreaterThanOrEqual(4.5);
  }
  expect(complaints).toEqual([]);
  expect(new Set(requests)).toEqual(new Set([`${server.url}/`, `${server.url}/docs`]));
});

it('is searched and walked through by keyboard', async () => {
  server = await serve(await initHome());
  opened = await openBrowser('');
  const { page, complaints } = opened;
  await page.goto(`${server.url}/docs`);
  const shown = () => page.locator('main section:visible').count();
  const all = await shown();
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.className')).toBe('skip');
  await page.keyboard.press('/');
  await page.keyboard.type('blockhash signed');
  expect(await page.getByRole('status').textContent()).toMatch(/^\d+ sections?$/);
  expect(await shown()).toBeLessThan(all);
  await page.keyboard.type(' nowhere');
  expect([await shown(), await page.getByRole('status').textContent()]).toEqual([0, '0 sections']);
  await page.keyboard.press('Escape');
  expect(await shown()).toBe(all);
  // A link out of what was found shows its target, though the search had hidden it.
  await page.keyboard.type('ERR_BATCH_IN_PROGRESS');
  await page.locator('#executeBatch a[href="#error-ERR_BATCH_IN_PROGRESS"]').first().click();
  expect(await page.locator('#error-ERR_BATCH_IN_PROGRESS').isVisible()).toBe(true);
  expect(complaints).toEqual([]);
});

it('its samples in curl call every operation', async () => {
  const home = await initHome();
  server = await serve(home);
  const answers = await walkThrough(home, server, 'shell');
  expect([...answers.keys()].toSorted()).toEqual(OPERATION_LIST.map(({ id }) => id).toSorted());
  expect(answers.get('getBatch')).toMatchObject({ status: 'EXECUTED' });
  expect(answers.get('burn')).toMatchObject({ result: 'SUCCESS' });
});
