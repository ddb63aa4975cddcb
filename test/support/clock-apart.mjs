/** Preloaded into a program: shifts its clock by CLOCK_APART_MS milliseconds. */
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
