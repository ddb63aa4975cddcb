/** Builds the page with markup, style and script in one file, so that the page loads nothing else. */
import { runPage } from './page-script.js';

const STYLE = `
:root { color-scheme: light dark; --ink: #16181d; --paper: #fbfbfa; --line: #d9dad6; --quiet: #5c616b; --good: #0b6b3a;
  --bad: #a3231b; --accent: #1f4fd8; --on-accent: #fff; --sheet: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9eaec; --paper: #131417; --line: #33363d; --quiet: #a3a8b2;
  --good: #5fd39a; --bad: #ff8b82; --accent: #8fb0ff; --on-accent: #10131a; --sheet: #1a1c21; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 52rem; margin: 0 auto; }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 1rem 0; }
dt { color: var(--quiet); white-space: pre; }
dd { margin: 0; grid-column: 2; overflow-wrap: anywhere; unicode-bidi: isolate; font-variant-numeric: tabular-nums; }
.code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .875rem; font-weight: 600; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
#content { max-height: 18rem; overflow-y: auto; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--sheet); }
#content:focus-visible { outline: 3px solid var(--accent); }
#content div { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; font-size: .875rem; padding-left: 1.25rem; }
#content .pipeline { padding: .25rem 0 0; color: var(--quiet); }
#content .marked { color: var(--bad); font-weight: 600; }
#warnings p { margin: .25rem 0; color: var(--bad); font-weight: 600; }
#wallets { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
button { padding: .625rem 1.25rem; border: 1px solid var(--accent); border-radius: .5rem; background: var(--accent);
  color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer; }
button:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; }
button:disabled { opacity: .5; cursor: default; }
#decline { background: transparent; border-color: var(--line); color: var(--ink); }
#status { min-height: 1.5rem; font-weight: 600; overflow-wrap: anywhere; }
#status.good { color: var(--good); }
#status.bad { color: var(--bad); }
.quiet { color: var(--quiet); }
[hidden] { display: none; }
`;

const BODY = `
<main>
<h1 id="title">Approve a batch</h1>
<p class="quiet">flywheel serves this page on this computer. Approving signs and sends one transaction: the owner's vote for this batch. The owner's wallet pays its fee, 0.000005 SOL and what the wallet adds.</p>
<div id="facts" hidden>
<div id="warnings" role="alert"></div>
<dl id="summary"></dl>
<h2 id="what">Every pipeline and what it does</h2>
<div id="content" role="region" aria-labelledby="what" tabindex="0"></div>
<div id="wallets" role="group" aria-label="Wallets"></div>
<p id="no-wallet" class="quiet">No wallet found. Unlock your wallet. If it is in another browser, run the command again and open the new link there.</p>
<button id="decline" type="button">Decline</button>
</div>
<p id="status" role="status" aria-live="polite">Opening …</p>
<noscript><p>Turn on JavaScript: without it this page cannot reach your wallet.</p></noscript>
</main>`;

/** Only script and style with the nonce are active. */
export const pageHtml = (nonce: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>flywheel: approve a batch</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<style nonce="${nonce}">${STYLE}</style></head>
<body>${BODY}
<script nonce="${nonce}">(${runPage.toString().replaceAll('</', '<\\/')})(window);</script>
</body></html>
`;
