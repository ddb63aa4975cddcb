/** Slots, heights and time. */
import { describe, expect, it } from 'vitest';
import { FIRST_SLOT, Timeline } from '../../../src/rpc-node/timeline.js';

const GENESIS_MS = 1_700_000_000_000;
const timeline = new Timeline('genesis', [{ slot: FIRST_SLOT, fromMs: GENESIS_MS, slotMs: 400 }]);
const slots = Array.from({ length: 500 }, (_, at) => FIRST_SLOT + at);

describe('Timeline', () => {
  it('counts one height up at each slot with a block, and leaves some slots without', () => {
    const produced = slots.filter((slot) => timeline.isProduced(slot));
    expect(produced.map((slot) => timeline.heightOf(slot))).toEqual(produced.map((_, at) => at));
    expect(slots.length - produced.length).toBe(31);
    expect(
      produced.every((slot, at) => slot === produced[0] || timeline.next(produced[at - 1] ?? 0) === slot),
    ).toBe(true);
  });

  it('puts a block into the slot that begins at its time, or the next one with a block', () => {
    for (const slot of slots.filter((each) => timeline.isProduced(each))) {
      expect(timeline.slotOfBlock(timeline.startMs(slot))).toBe(slot);
      expect(timeline.slotOfBlock(timeline.startMs(slot) + 1)).toBe(timeline.next(slot));
      expect(timeline.slotAt(timeline.startMs(slot) + 399)).toBe(slot);
    }
  });

  it('never takes a block of a later time to an earlier slot, whatever the paces', () => {
    const changed = timeline.startMs(FIRST_SLOT + 100);
    const paces = new Timeline('genesis', [
      { slot: FIRST_SLOT, fromMs: GENESIS_MS, slotMs: 400 },
      { slot: FIRST_SLOT + 100, fromMs: changed, slotMs: 7 },
      { slot: FIRST_SLOT + 300, fromMs: changed + 1_400, slotMs: 1_000 },
    ]);
    const found = Array.from({ length: 4_000 }, (_, at) => paces.slotOfBlock(GENESIS_MS + at * 31));
    expect(found).toEqual([...found].sort((left, right) => left - right));
    expect(paces.slotOfBlock(changed - 400)).toBe(timeline.slotOfBlock(changed - 400));
  });
});
