/** Colour, and text without control characters. */
import { describe, expect, it } from 'vitest';
import { colorLevel, createStyle } from '../../../src/cli/output/color.js';
import { printableLine, safeJson, safeLine, safeText } from '../../../src/cli/output/safe-text.js';
import { shellLine } from '../../../src/cli/shell-line.js';

describe('colorLevel', () => {
  it.each([
    [{}, false, 0],
    [{ TERM: 'xterm' }, true, 1],
    [{ TERM: 'xterm-256color' }, true, 2],
    [{ COLORTERM: 'truecolor' }, true, 3],
    [{ TERM: 'dumb' }, true, 0],
    [{ NO_COLOR: '1', FORCE_COLOR: '3' }, true, 0],
    [{ NO_COLOR: '', TERM: 'xterm' }, true, 1],
    [{ FORCE_COLOR: '1' }, false, 1],
    [{ FORCE_COLOR: '0', TERM: 'xterm' }, true, 0],
    [{ CLICOLOR_FORCE: '1' }, false, 1],
    [{ CLICOLOR_FORCE: '0' }, false, 0],
  ] as const)('is for %j and a terminal %s: %i, and none with --no-color', (env, isTTY, level) => {
    expect([colorLevel(env, isTTY, false), colorLevel(env, isTTY, true)]).toEqual([level, 0]);
  });
});

describe('safe text', () => {
  it('is without what a terminal would obey, or hides', () => {
    expect(safeText('a\u001b[31mb\u0000\u009b\u202ec\td\né')).toBe('a[31mbc\td\né');
    expect(safeLine('a\r\nb\u2028c\td')).toBe('a b c d');
    expect(safeLine('x\u00ad\u061c\u200b\u200f\u2066\ufeff\ufff9\u{e0041}y')).toBe('xy');
    expect(safeLine('Größe 12 € 漢字 \u{1f600} e\u0301')).toBe('Größe 12 € 漢字 \u{1f600} e\u0301');
  });

  it('keeps of the first 256 characters those that are shown', () => {
    const kept = Array.from({ length: 256 }, (_, code) => code).filter((code) => {
      const text = `x${String.fromCharCode(code)}y`;
      return safeLine(text) === text;
    });
    const isShown = (code: number): boolean =>
      (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code !== 0xad);
    expect(kept).toEqual(Array.from({ length: 256 }, (_, code) => code).filter(isShown));
  });
  it('escapes what is hidden, also beyond the basic plane, and reads back the same', () => {
    const value = { '\u200bname': ['\u{e0041}', '\u0085\u2029', 'é\u{1f600}'] };
    for (const indent of [undefined, 2]) {
      const text = safeJson(value, indent);
      expect(text).not.toMatch(/[\u0080-\u009f\u200b\u2029]|\udb40/);
      expect(text).toContain('é\u{1f600}');
      expect(JSON.parse(text)).toEqual(value);
    }
    expect(safeJson('\u{e0041}')).toBe('"\\udb40\\udc41"');
  });
  it('lets the colours of every style through, and no other escape', async () => {
    for (const level of [1, 2, 3] as const) {
      const style = await createStyle(level, 80);
      for (const paint of [style.bold, style.dim, style.good, style.bad, style.warn]) {
        const line = paint('text');
        expect(line).not.toBe('text');
        expect(printableLine(line)).toBe(line);
      }
    }
    expect(printableLine('a\u001b[2Jb\u001b[8mc\u001b]0;t\u0007d\ne\u202ef')).toBe('a[2Jb[8mc]0;tdef');
  });
});

describe('shellLine', () => {
  it('can be pasted into a shell, and hides no character', () => {
    expect(shellLine(['a', "it's", '$x', '--k=v'])).toBe("a 'it'\\''s' '$x' --k=v");
    expect(shellLine(["a\u200b'\\b\n"])).toBe("$'a\\U0000200b\\'\\\\b\\U0000000a'");
    expect(shellLine(['\u200ba'])).toBe("$'\\U0000200ba'");
  });
});
