/** The documentation page in a real Chromium, in light and dark, wide and narrow. */
import { afterEach, expect, it } from 'vitest';
import { initHome, type ServeProcess, serve } from '../support/http-serve.js';
import { type OpenPage, openBrowser } from './browser.js';
import { expectReadable } from './contrast.js';

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
  await expectReadable(page, `${server.url}/`);
  expect(page.url()).toBe(`${server.url}/docs`);
  expect(complaints).toEqual([]);
  expect(new Set(requests)).toEqual(new Set([`${server.url}/`, `${server.url}/docs`]));
});
