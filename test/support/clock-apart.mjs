/** Preloaded into a program: its clock goes wrong by as many milliseconds as CLOCK_APART_MS says. */
const apartMs = Number(process.env.CLOCK_APART_MS ?? 0);
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length === 0 ? [RealDate.now() + apartMs] : values));
  }

  static now() {
    return RealDate.now() + apartMs;
  }
};
