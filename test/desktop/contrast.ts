/** How well a page can be read. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Evaluated in a page: the lowest contrast between visible text and its background (WCAG 2.2, 1.4.3). */
const LEAST_CONTRAST = `(() => {
  const channel = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => {
    const [red, green, blue] = color.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  };
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  return Math.min(...[...document.querySelectorAll('h1, h2, p, dt, dd, th, td, li, svg text')].map((element) => {
    const style = getComputedStyle(element);
    const ink = luminance(element instanceof SVGElement ? style.fill : style.color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  }));
})()`;

/** Opens a page wide and as on a phone: nothing has to be scrolled sideways, and all text stands out. */
export async function expectReadable(page: Page, url: string): Promise<void> {
  for (const width of [1_200, 400]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(url);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    expect(await page.evaluate(LEAST_CONTRAST)).toBeGreaterThanOrEqual(4.5);
  }
}
