/** How text becomes HTML on the page: nothing gets into it unescaped. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (char) => ESCAPES[char] ?? char);

export const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** Text with `code` marks. */
export const prose = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** A block of code, which the keyboard can scroll too. @param language - read by whoever shows it in colours. */
export const codeBlock = (label: string, language: string, text: string): string =>
  `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code class="language-${language}">${escapeHtml(text)}</code></pre>`;

export const link = (id: string, html: string): string => `<a href="#${escapeHtml(id)}">${html}</a>`;

/** A table whose first row is its heading; on a narrow screen it scrolls by itself. Cells are HTML. */
export function table(
  label: string,
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const cells = (row: readonly string[]): string => row.map((cell) => `<td>${cell}</td>`).join('');
  const head = heading.map((cell) => `<th scope="col">${cell}</th>`).join('');
  const body = rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n');
  return `<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(label)}"><table><thead><tr>${head}</tr></thead><tbody>\n${body}</tbody></table></div>`;
}

/** A part of the page that the search finds or hides as a whole. */
export const section = (id: string, heading: string, ...content: readonly string[]): string =>
  [`<section id="${escapeHtml(id)}"><h2>${heading}</h2>`, ...content, '</section>'].join('\n');
