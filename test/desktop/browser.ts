/** Starts a separate Chromium for each test, without background activity. */
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { emptyDirectory } from '../support/spawn.js';

const EXECUTABLE = '/usr/bin/chromium';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A page in an empty profile, with its requests and errors. */
export interface OpenPage {
  readonly page: Page;
  readonly requests: readonly string[];
  /** Script errors, and console errors. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** @param script - runs in the page before its own scripts, as an extension does. */
export async function openBrowser(
  script: string,
  options: { readonly colorScheme?: 'dark' | 'light' } = {},
): Promise<OpenPage> {
  const context: BrowserContext = await chromium.launchPersistentContext(emptyDirectory(), {
    executablePath: EXECUTABLE,
    args: FLAGS,
    ...options,
  });
  await context.addInitScript(script);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  context.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, requests, complaints, close: () => context.close() };
}
