/** Persons at the built command line with signals, full disks and spoiled requests, from fixed seeds; more by `npm run torture -- commands`. */
import { describe, expect, it } from 'vitest';
import { runCommands } from '../torture/commands.js';

/** Of each person, before all of it is brought to rest. */
const COMMANDS = 5;

describe('real processes of commands', () => {
  it.each([
    ['embedded', 17],
    ['remote', 17],
  ] as const)('keep what was promised: %s, seed %i', async (mode, seed) => {
    const { commands, faults } = await runCommands({ seed, mode, commands: COMMANDS });
    expect([commands > COMMANDS, faults.size > 0]).toEqual([true, true]);
  });
});
