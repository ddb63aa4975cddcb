/**
 * Finds in the page: sections that lack one of the words are hidden, and their entries in the list of contents with them.
 * Without scripts the box is not there, and nothing else is missing.
 */
export const SEARCH_SCRIPT = `
(() => {
  const box = document.getElementById('search');
  const count = document.getElementById('found');
  const sections = [...document.querySelectorAll('main section')].map((section) => ({
    section,
    entry: document.querySelector('nav a[href="#' + section.id + '"]')?.parentElement,
    text: section.textContent.toLowerCase(),
  }));
  const find = () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let found = 0;
    for (const { section, entry, text } of sections) {
      const hit = words.every((word) => text.includes(word));
      section.hidden = !hit;
      if (entry) entry.hidden = !hit;
      if (hit) found += 1;
    }
    for (const group of document.querySelectorAll('nav .group'))
      group.hidden = ![...group.querySelectorAll('li')].some((entry) => !entry.hidden);
    count.textContent = words.length === 0 ? '' : found === 1 ? '1 section' : found + ' sections';
  };
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.closest('section')?.hidden) return;
    box.value = '';
    find();
    target.scrollIntoView();
  };
  box.addEventListener('input', find);
  box.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    box.value = '';
    find();
  });
  addEventListener('hashchange', reveal);
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === box) return;
    event.preventDefault();
    box.focus();
  });
  document.getElementById('find').hidden = false;
})();
`.trim();
